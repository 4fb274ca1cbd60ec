"""Readers of workloads: one file a format, each gives ``workload.Workload``."""
