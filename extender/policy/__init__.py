"""Published rules, one a module (pure)."""
