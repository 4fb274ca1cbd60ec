"""All access to the API server."""
