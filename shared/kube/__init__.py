"""The only door to the API server."""
