"""Moving jobs by checkpoint: who moves and where to, and each migration's way (pure)."""
