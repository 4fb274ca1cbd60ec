"""Readers of workloads, one module per format; each returns a ``workload.Workload``."""
