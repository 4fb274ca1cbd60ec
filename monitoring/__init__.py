"""Watching Shuntyard: dashboards and alert rules from one description; Prometheus to try them."""
