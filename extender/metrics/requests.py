"""Metrics of requests: those of kube-scheduler, of users and of agents, and of the bind barrier."""

from enum import StrEnum
from typing import Final

from extender.metrics.series import Series

REQUEST_BUCKETS_SECONDS: Final = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 20.0, 30.0),
)
"""Up to the longest wait at the bind barrier."""


class Verb(StrEnum):
    """The kind of a request."""

    FILTER = "filter"
    PRIORITIZE = "prioritize"
    BIND = "bind"
    QUEUE = "queue"
    NODES = "nodes"
    JOBS = "jobs"
    EXPLAIN = "explain"
    MIGRATIONS = "migrations"
    RESCALES = "rescales"
    PARKINGS = "parkings"
    NAMESPACES = "namespaces"
    PRICES = "prices"
    WHAT_IF = "whatif"  # a route name of aiohttp has no keyword of Python between its hyphens
    HEARTBEAT = "heartbeat"
    NODE_PODS = "node-pods"
    OTHER = "other"
    """Probes, /metrics, and paths that do not exist."""


class Outcome(StrEnum):
    """How a request ended."""

    OK = "ok"
    REFUSED = "refused"
    """Answered with a protocol-level error: kube-scheduler tries again."""
    BAD_REQUEST = "bad-request"
    """Status 4xx."""
    FAULT = "fault"
    """Status 5xx: a defect of ours, or a failed probe."""
    CALLER_LOST = "caller-lost"
    """The caller went away before it was answered."""


class Passed(StrEnum):
    """The call in which a pod of another scheduler was passed through."""

    FILTER = "filter"
    """All offered nodes were returned."""
    BIND = "bind"
    """It was bound at once, alone."""


class RequestMetrics:
    """Requests by verb and outcome, and how long bind calls waited."""

    def __init__(self, series: Series) -> None:
        self.seconds = series.histogram(
            "shuntyard_request_duration_seconds",
            "Time from the first byte of a request's headers to the answer, by verb.",
            REQUEST_BUCKETS_SECONDS,
            verb=Verb,
        )
        self._seconds_of = {v: self.seconds.labels(verb=v.value) for v in Verb}
        self.counted = series.counter(
            "shuntyard_requests", "Requests by verb and outcome.", verb=Verb, outcome=Outcome
        )
        self.passed = series.counter(
            "shuntyard_foreign_requests",
            "Calls of kube-scheduler about pods of other schedulers: passed through by `filter`, "
            "bound at once and alone by `bind`.",
            verb=Passed,
        )
        self.bind_timeouts = series.counter(
            "shuntyard_bind_timeouts", "Bind calls whose gang did not arrive in time."
        )
        self.barrier_seconds = series.histogram(
            "shuntyard_barrier_wait_seconds",
            "How long bind calls waited for their gang and the Binding, however they ended.",
            REQUEST_BUCKETS_SECONDS,
        )

    def observe(self, verb: Verb, outcome: Outcome, duration_seconds: float) -> None:
        """Count one request."""
        self._seconds_of[verb].observe(duration_seconds)
        self.counted.labels(verb=verb.value, outcome=outcome.value).inc()
