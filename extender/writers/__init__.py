"""Every API write, one module per kind of write; and the decision log on disk."""
