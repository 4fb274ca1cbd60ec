"""Migrations by checkpoint: which jobs move to which nodes, and the phases of each move (pure)."""
