"""Benchmarks: each published number comes from one of these commands (bench/README.md)."""
