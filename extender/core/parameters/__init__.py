"""Parameters of all decisions: frozen dataclasses with defaults, bounds and sources."""
