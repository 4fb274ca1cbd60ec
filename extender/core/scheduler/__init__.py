"""Answers to kube-scheduler's filter, prioritize and bind; direct gangs."""
