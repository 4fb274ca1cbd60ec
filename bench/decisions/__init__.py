"""Benchmarks of decisions: time by the size of the cluster."""
