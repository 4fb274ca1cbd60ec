"""Metrics of connections: how many are open, and how many were ended, and why."""

from collections.abc import Sized
from enum import StrEnum

from extender.metrics.certificates import Door
from extender.metrics.series import Series


class Ending(StrEnum):
    """Why a connection was ended."""

    CROWDED = "crowded"
    """The limit was reached; the connection was idle, or one too many."""
    LATE = "late"
    """The body of its request took too long."""


class ConnectionMetrics:
    """The metrics of this module."""

    def __init__(self, series: Series) -> None:
        self.open = series.gauge(
            "shuntyard_connections", "Open connections of a listener.", listener=Door
        )
        self.ended = series.counter(
            "shuntyard_connections_ended",
            "Connections that a listener ended or rejected, by why: `crowded`, the limit of open "
            "connections was reached; `late`, the body of a request took too long.",
            listener=Door,
            why=Ending,
        )

    def watch(self, door: Door, connections: Sized) -> None:
        """Read the number of open connections at every scrape."""
        self.open.labels(listener=door.value).set_function(lambda: float(len(connections)))
