"""The scheduler extender: a pure core (state, engine, policy, adapters) inside a shell (http, loops)."""
