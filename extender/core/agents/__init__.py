"""Agents' reports: merging, freshness, and what agents are asked for."""
