"""Elastic jobs: which of them lose or get workers, and the steps of each change."""
