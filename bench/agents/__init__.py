"""Benchmarks of the agent, and of agents' heartbeats at the extender."""
