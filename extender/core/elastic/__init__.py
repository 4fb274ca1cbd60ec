"""Elastic jobs: who gives up workers, who gets more, and how that is done step by step."""
