"""Shared parts of the OASiS experiments: workload, contestants and the paper's numbers."""
