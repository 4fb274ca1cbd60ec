"""Convergence of a training run: SpeCon's Algorithm 1, and a forecast of its curve."""
