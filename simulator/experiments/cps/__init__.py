"""Shared parts of the CPS experiments: the paper's values, and one cycle on a cluster."""
