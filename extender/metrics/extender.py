"""What the extender counts, on a registry of its own so that tests and programs never collide.

Names: ``shuntyard_*_{total,seconds,bytes,ratio,jobs,nodes,pods}``. Label values come from closed
vocabularies, never from names of pods, nodes or jobs. What belongs together has a module of its own
(``queue``, ``migration``, ``yard`` …); all are on this one registry.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from importlib import metadata
from typing import Final, Protocol

from prometheus_client import (
    CollectorRegistry,
    Info,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.process_collector import ProcessCollector

from extender.core.agents.heartbeats import Kind
from extender.core.agents.report_view import Reporting
from extender.core.records.signatures import Fault, Signed
from extender.metrics.admission import AdmissionMetrics
from extender.metrics.certificates import CertificateMetrics
from extender.metrics.cluster import YardMetrics
from extender.metrics.connections import ConnectionMetrics
from extender.metrics.migration import MigrationMetrics
from extender.metrics.queue import QueueMetrics
from extender.metrics.scaling import ScalingMetrics
from extender.metrics.series import Series

# A second series for each one, and nobody reads it.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the library has no annotation

VERSION: Final = metadata.version("shuntyard")
REQUEST_BUCKETS_SECONDS: Final = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 20.0, 30.0),
)
"""Up to the longest wait at the bind barrier."""
LAG_BUCKETS_SECONDS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class Verb(StrEnum):
    """What was asked."""

    FILTER = "filter"
    PRIORITIZE = "prioritize"
    BIND = "bind"
    QUEUE = "queue"
    NODES = "nodes"
    JOBS = "jobs"
    EXPLAIN = "explain"
    MIGRATIONS = "migrations"
    RESCALES = "rescales"
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
    """Status 5xx: a defect of ours, or a probe that says no."""
    CALLER_LOST = "caller-lost"
    """The caller went away before it was answered."""


class Passed(StrEnum):
    """Where a pod of another scheduler came through as if we were not there."""

    FILTER = "filter"
    """All nodes that were offered stayed."""
    BIND = "bind"
    """It was bound at once, alone."""


class Writing(StrEnum):
    """What a write to the API server was for."""

    RELEASE = "release"
    REPLAN = "replan"
    CLEAR = "clear"
    UNGATE = "ungate"
    NOTICE = "notice"


class Written(StrEnum):
    """How such a write ended."""

    DONE = "done"
    REFUSED = "refused"


class Losing(StrEnum):
    """Why the decision log drops records."""

    DISK = "disk"
    """They could not be written."""
    BUFFER = "buffer"
    """Too much waited to be written."""


class Bound(StrEnum):
    """How a Binding ended."""

    BOUND = "bound"
    FAILED = "failed"


class Cause(StrEnum):
    """Why a pod was deleted (``engine.commands.DeletePod.cause``)."""

    PIN_LOST = "pin-lost"
    """None of the nodes it is pinned to could be used."""
    PARTIAL_GANG = "partial-gang"
    """Its gang stayed partial and was dissolved."""
    REPLACED = "replaced"
    """It was to be deleted for one of these, and an earlier attempt did not get so far."""


class Reviewed(StrEnum):
    """What the API server said about a token, of an agent or of a caller of the read API."""

    ACCEPTED = "accepted"
    UNAUTHENTICATED = "unauthenticated"
    """It is not good, or not meant for us."""
    FORBIDDEN = "forbidden"
    """It is no agent's, or of no node."""
    UNAVAILABLE = "unavailable"
    """There was no verdict."""


class Access(StrEnum):
    """What the API server said of what a caller of the read API may see."""

    ALLOWED = "allowed"
    DENIED = "denied"
    UNAVAILABLE = "unavailable"
    """There was no verdict."""
    THROTTLED = "throttled"
    """It was not asked: the caller, or all together, had asked too much."""


class Resizing(StrEnum):
    """What became of a CPU request that was to change in place."""

    RAISED = "raised"
    LOWERED = "lowered"
    RESTORED = "restored"
    """What the owner asked for was given back."""
    REFUSED = "refused"
    """By the API server."""
    DEFERRED = "deferred"
    """The node has no room for it now."""
    INFEASIBLE = "infeasible"
    """The node will never grant it."""


class Happening(StrEnum):
    """What an agent saw happen to a pod (``shared.wire.Event.kind``)."""

    NAN = "nan"
    RESTART = "restart"
    CATEGORY = "category"
    TRUNCATED = "truncated"


class Watched(Protocol):
    """The part of ``shared.kube.resources.ResourceKind`` that is read here."""

    @property
    def source(self) -> str:
        """The watched collection, e.g. ``Pod``."""
        ...


class Watching(Protocol):
    """The part of ``shared.kube.reflector.Reflector`` that is read here."""

    last_event_at: float

    @property
    def kind(self) -> Watched:
        """What it watches."""
        ...

    @property
    def relists(self) -> Mapping[str, int]:
        """How often it had to list again, by reason, since it started."""
        ...


class ExtenderMetrics:
    """All metrics of one extender; public attributes are counted on by loops and handlers."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.series = Series(self.registry)
        ProcessCollector(registry=self.registry)
        Info("shuntyard_build", "The version that runs.", registry=self.registry).info(
            {"version": VERSION}
        )
        self.queue = QueueMetrics(self.series)
        self.moves = MigrationMetrics(self.series)
        self.scaling = ScalingMetrics(self.series)
        self.yard = YardMetrics(self.series)
        self.admission = AdmissionMetrics(self.series)
        self.certificates = CertificateMetrics(self.series)
        self.connections = ConnectionMetrics(self.series)
        self._of_requests()
        self._of_writes()
        self._of_decision_log()
        self._of_watches()
        self._of_agents()
        self._of_cpu_weights()
        self._of_the_process()

    def _of_requests(self) -> None:
        self.request_seconds = self.series.histogram(
            "shuntyard_request_duration_seconds",
            "From the first byte of a request's headers to the answer, by verb.",
            REQUEST_BUCKETS_SECONDS,
            verb=Verb,
        )
        self._seconds_of = {v: self.request_seconds.labels(verb=v.value) for v in Verb}
        self.requests = self.series.counter(
            "shuntyard_requests", "Requests by verb and outcome.", verb=Verb, outcome=Outcome
        )
        self.passed = self.series.counter(
            "shuntyard_foreign_requests",
            "Calls of kube-scheduler about pods of other schedulers: passed through by `filter`, "
            "bound at once and alone by `bind`.",
            verb=Passed,
        )
        self.bind_timeouts = self.series.counter(
            "shuntyard_bind_timeouts", "Bind calls whose gang did not arrive in time."
        )
        self.barrier_seconds = self.series.histogram(
            "shuntyard_barrier_wait_seconds",
            "How long bind calls waited for their gang and the Binding, however they ended.",
            REQUEST_BUCKETS_SECONDS,
        )

    def _of_writes(self) -> None:
        self.releases = self.series.counter("shuntyard_releases", "Pods released from the queue.")
        self.replans = self.series.counter(
            "shuntyard_replans", "Seats moved to another of the pod's pinned nodes."
        )
        self.bindings = self.series.counter(
            "shuntyard_bindings", "Bindings sent, by outcome.", outcome=Bound
        )
        self.signatures_refused = self.series.counter(
            "shuntyard_signatures_refused",
            "Seats, records on owners and Migrations that began not to count, because their "
            "signature is missing or wrong, by what it was and why.",
            what=Signed,
            why=Fault,
        )
        self.deletions = self.series.counter(
            "shuntyard_deletions",
            "Pods deleted so that their owner makes new ones, by cause.",
            cause=Cause,
        )
        self.writes = self.series.counter(
            "shuntyard_writes",
            "Patches and notices sent to the API server, by kind and outcome.",
            kind=Writing,
            outcome=Written,
        )

    def _of_decision_log(self) -> None:
        self.decision_log_bytes = self.series.gauge(
            "shuntyard_decision_log_bytes", "Size of the decision log on disk."
        )
        self.decision_log_buffered_bytes = self.series.gauge(
            "shuntyard_decision_log_buffered_bytes",
            "Records of the decision log that wait to be written.",
        )
        self.decision_log_openings = self.series.counter(
            "shuntyard_decision_log_openings",
            "Segments of the decision log that were begun, each with the whole state.",
        )
        self.decision_log_dropped = self.series.counter(
            "shuntyard_decision_log_dropped",
            "Records that the decision log lacks, by why.",
            why=Losing,
        )

    def _of_watches(self) -> None:
        self.relists = self.series.counter(
            "shuntyard_watch_relists",
            "Full lists after the first, by watched collection and reason.",
            ["source", "reason"],
        )
        self.last_event_age_seconds = self.series.gauge(
            "shuntyard_watch_last_event_age_seconds",
            "Time since a watch last heard anything, by collection; of those that are there.",
            ["source"],
        )
        self.skipped_objects = self.series.counter(
            "shuntyard_skipped_objects", "Objects that could not be read and were passed over."
        )

    def _of_agents(self) -> None:
        self.heartbeats = self.series.counter(
            "shuntyard_heartbeats", "Agents' heartbeats that were taken, by kind.", kind=Kind
        )
        self.token_reviews = self.series.counter(
            "shuntyard_token_reviews",
            "Tokens that the API server was asked about, by verdict.",
            verdict=Reviewed,
        )
        self.access_reviews = self.series.counter(
            "shuntyard_access_reviews",
            "What the API server was asked about callers of the read API, by verdict.",
            verdict=Access,
        )
        self.agent_events = self.series.counter(
            "shuntyard_agent_events",
            "What agents saw happen to pods, by kind: a metric that is no number, a restart, a new "
            "category, a log that was cut.",
            kind=Happening,
        )
        self.reporting_nodes = self.series.gauge(
            "shuntyard_reporting_nodes",
            "Nodes by how much is known of them through their agent.",
            state=Reporting,
        )

    def _of_cpu_weights(self) -> None:
        self.resizes = self.series.counter(
            "shuntyard_resizes",
            "Changes of CPU requests in place, by what became of them; one that its node defers, "
            "or finds infeasible, was counted as raised or lowered before.",
            outcome=Resizing,
        )
        self.resized_pods = self.series.gauge(
            "shuntyard_resized_pods", "Pods whose CPU request is not what their owners asked for."
        )

    def _of_the_process(self) -> None:
        self.acting = self.series.gauge(
            "shuntyard_acting", "1 while this replica is the one that decides, else 0."
        )
        self.loop_lag_seconds = self.series.histogram(
            "shuntyard_loop_lag_seconds",
            "How late the event loop woke a sleeper.",
            LAG_BUCKETS_SECONDS,
        )
        self._relists_seen: dict[tuple[str, str], int] = {}
        self._sources_seen: set[str] = set()

    def observe_request(self, verb: Verb, outcome: Outcome, duration_seconds: float) -> None:
        """Count one request."""
        self._seconds_of[verb].observe(duration_seconds)
        self.requests.labels(verb=verb.value, outcome=outcome.value).inc()

    def observe_reports(self, nodes: Mapping[Reporting, int]) -> None:
        """Take over how many nodes' agents report how well."""
        for state in Reporting:
            self.reporting_nodes.labels(state=state.value).set(nodes.get(state, 0))

    def observe_reflectors(self, reflectors: Iterable[Watching], monotonic: float) -> None:
        """Take over what the watches know of themselves; ``monotonic`` is the clock's reading."""
        gone, self._sources_seen = self._sources_seen, set()
        for reflector in reflectors:
            source = reflector.kind.source
            self._sources_seen.add(source)
            age_seconds = monotonic - reflector.last_event_at
            self.last_event_age_seconds.labels(source=source).set(age_seconds)
            for reason, count in reflector.relists.items():
                known = self._relists_seen.get((source, reason), 0)
                self.relists.labels(source=source, reason=reason).inc(count - known)
                self._relists_seen[source, reason] = count
        for source in gone - self._sources_seen:
            self.last_event_age_seconds.remove(source)

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus; takes milliseconds."""
        return generate_latest(self.registry)
