"""CPU requests of pods by the remaining work of their training."""
