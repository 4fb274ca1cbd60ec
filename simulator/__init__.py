"""Simulator: the extender's core in virtual time, on the papers' workloads and on public traces."""
