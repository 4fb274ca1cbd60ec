"""Scheduler extender: a pure core (state, engine, policy, adapters) in a shell (http, loops)."""
