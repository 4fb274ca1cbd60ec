"""Makes the Helm chart deploy/chart from the kustomizations of deploy/ (docs/adr/)."""
