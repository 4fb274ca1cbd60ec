"""Client of the extender's replicas: addresses, credentials, requests (shell)."""
