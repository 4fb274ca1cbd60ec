"""What is counted of connections: how many are open, and which were ended for the others' sake."""

from collections.abc import Sized
from enum import StrEnum

from extender.metrics.certificates import Door
from extender.metrics.series import Series


class Ending(StrEnum):
    """Why a connection was ended."""

    CROWDED = "crowded"
    """As many were open as may be; it had asked for nothing, or was one too many."""
    LATE = "late"
    """The body of its request took too long."""


class ConnectionMetrics:
    """See the module."""

    def __init__(self, series: Series) -> None:
        self.open = series.gauge(
            "shuntyard_connections", "Open connections of a listener.", listener=Door
        )
        self.ended = series.counter(
            "shuntyard_connections_ended",
            "Connections that a listener ended or turned away, by why: `crowded`, as many were "
            "open as may be; `late`, the body of a request took too long.",
            listener=Door,
            why=Ending,
        )

    def watch(self, door: Door, connections: Sized) -> None:
        """Show how many are open whenever somebody asks."""
        self.open.labels(listener=door.value).set_function(lambda: float(len(connections)))
