"""Comparison of policies on one trace: schedulers, metrics, Pareto front."""
