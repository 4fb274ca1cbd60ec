"""What can go wrong in the monitoring room.

::

    MonitoringError (ShuntyardError)
    ├── ProgramError   Prometheus or promtool is not here, or did not start
    └── QueryError     Prometheus did not answer a query
"""

from shared.errors import ShuntyardError


class MonitoringError(ShuntyardError):
    """Every error of this room."""


class ProgramError(MonitoringError):
    """Prometheus or promtool is not here and could not be had, or it did not start."""


class QueryError(MonitoringError):
    """Prometheus refused a query, or its answer cannot be read."""
