"""Metrics of the extender, a module for each topic (docs/reference/metrics.md)."""
