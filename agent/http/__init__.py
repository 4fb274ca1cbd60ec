"""Server for the kubelet's probes and Prometheus (shell)."""
