"""Job kinds: which job a pod belongs to, in which role, and how many make the gang (pure)."""
