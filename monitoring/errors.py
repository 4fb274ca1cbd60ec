"""Errors of monitoring.

::

    MonitoringError (ShuntyardError)
    ├── ProgramError   Prometheus or promtool is missing, or did not start
    └── QueryError     Prometheus did not answer a query
"""

from shared.errors import ShuntyardError


class MonitoringError(ShuntyardError):
    """Base of all errors here."""


class ProgramError(MonitoringError):
    """Prometheus or promtool is missing and could not be installed, or did not start."""


class QueryError(MonitoringError):
    """Prometheus refused a query, or its answer cannot be read."""
