"""Decisions that a shell asks for, one a module (pure)."""
