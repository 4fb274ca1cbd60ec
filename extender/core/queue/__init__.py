"""The queue: which waiting job starts next, and where."""
