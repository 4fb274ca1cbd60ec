"""Recording rules and alerts, from one description each."""
