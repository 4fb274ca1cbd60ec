"""What kube-scheduler and people call (shell)."""
