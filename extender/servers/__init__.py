"""The HTTP servers: for kube-scheduler, for agents, for people and probes (shell)."""
