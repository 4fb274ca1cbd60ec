"""Monitoring: dashboards and alert rules from one description, and Prometheus to test them."""
