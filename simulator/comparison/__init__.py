"""Policies side by side on one trace: what decides, what is measured, the Pareto front."""
