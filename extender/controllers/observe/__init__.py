"""Watches the API server and feeds the store."""
