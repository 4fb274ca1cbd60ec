"""What the kubelet and Prometheus ask (shell)."""
