"""Shared parts of the SpeCon experiments: jobs, rules and measures in the fluid model."""
