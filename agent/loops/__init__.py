"""Endless activities, one in each module (shell)."""
