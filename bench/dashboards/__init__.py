"""Benchmarks of metrics and dashboards."""
