"""Shared parts of the DRS experiments: drawn jobs, schedulers and comparisons."""
