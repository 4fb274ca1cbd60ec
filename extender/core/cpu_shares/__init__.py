"""CPU requests by how much training still gains: who is given what, and when (pure)."""
