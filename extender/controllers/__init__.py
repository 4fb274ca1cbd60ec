"""Endless activities, one a module (shell)."""
