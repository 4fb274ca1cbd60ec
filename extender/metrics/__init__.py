"""What the extender counts: a module a group (docs/reference/metrics.md)."""
