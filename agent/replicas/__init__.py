"""The way to the extender's replicas: where they are, whom to trust, how to ask (shell)."""
