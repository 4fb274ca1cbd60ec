"""Programs of other projects in a cluster: control plane, schedulers, nodes."""
