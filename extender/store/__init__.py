"""The cache: one writer, observed and assumed state, incremental indices (pure)."""
