"""Metrics of the extender, on a registry of its own, so that tests and programs never collide.

Names: ``shuntyard_*_{total,seconds,bytes,ratio,jobs,nodes,pods,gpus}``. Label values come from
closed vocabularies, never from names of pods, nodes or jobs; ``teams`` names a bounded number of
namespaces. Each topic has a module (``queue``, ``running_jobs``, ``cluster`` …); all are on this
one registry.
"""

from collections.abc import Mapping
from enum import StrEnum
from importlib import metadata
from typing import Final

from prometheus_client import CollectorRegistry, Info, disable_created_metrics, generate_latest
from prometheus_client.process_collector import ProcessCollector

from extender.core.agents.heartbeats import Kind
from extender.core.agents.reports import Reporting
from extender.core.records.signatures import Fault, Signed
from extender.metrics import running_jobs
from extender.metrics.admission import AdmissionMetrics
from extender.metrics.cluster import ClusterMetrics
from extender.metrics.listeners import CertificateMetrics, ConnectionMetrics
from extender.metrics.queue import BurstMetrics, QueueMetrics, StartMetrics
from extender.metrics.requests import RequestMetrics
from extender.metrics.series import Series
from extender.metrics.teams import TeamMetrics
from extender.metrics.watches import WatchMetrics

# It would add a second series to each, which has no use here.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the library has no annotation

VERSION: Final = metadata.version("shuntyard")
LAG_BUCKETS_SECONDS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


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
    """Too many waited to be written."""


class Bound(StrEnum):
    """How a Binding ended."""

    BOUND = "bound"
    FAILED = "failed"


class Cause(StrEnum):
    """Why a pod was deleted (``core.cluster.commands.DeletePod.cause``)."""

    PIN_LOST = "pin-lost"
    """None of the nodes it is pinned to could be used."""
    PARTIAL_GANG = "partial-gang"
    """Its gang stayed partial and was dissolved."""
    HUNG = "hung"
    """Its training hung, and its owner asked for a restart."""
    NODE_FENCED = "node-fenced"
    """Its node is unreachable and fenced: deleted by force."""
    NODE_LOST = "node-lost"
    """Its node is unreachable without a fence, for longer than the settings wait."""
    REPLACED = "replaced"
    """An earlier deletion for one of these causes was not finished."""
    WITHDRAWN = "withdrawn"
    """It was to replace a pod without an owner that another client deleted first."""


class Reviewed(StrEnum):
    """Verdict of the API server on a token of an agent or of a caller of the read API."""

    ACCEPTED = "accepted"
    UNAUTHENTICATED = "unauthenticated"
    """It is not valid, or for another audience."""
    FORBIDDEN = "forbidden"
    """It is not of an agent, or not of a node."""
    UNAVAILABLE = "unavailable"
    """There was no verdict."""


class Access(StrEnum):
    """Verdict of the API server on what a caller of the read API may see."""

    ALLOWED = "allowed"
    DENIED = "denied"
    UNAVAILABLE = "unavailable"
    """There was no verdict."""
    THROTTLED = "throttled"
    """The API server was not asked: the caller, or all callers together, had too many requests."""


class Resizing(StrEnum):
    """How a change of a CPU request in place ended."""

    RAISED = "raised"
    LOWERED = "lowered"
    RESTORED = "restored"
    """The owner's own request was restored."""
    REFUSED = "refused"
    """By the API server."""
    DEFERRED = "deferred"
    """The node has no room for it now."""
    INFEASIBLE = "infeasible"
    """The node will never grant it."""


class Happening(StrEnum):
    """An event of a pod that an agent reports (``shared.wire.Event.kind``)."""

    NAN = "nan"
    RESTART = "restart"
    CATEGORY = "category"
    TRUNCATED = "truncated"


class ExtenderMetrics:
    """All metrics of one extender; controllers and handlers use the public attributes."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.series = Series(self.registry)
        ProcessCollector(registry=self.registry)
        build = Info("shuntyard_build", "The running version.", registry=self.registry)
        build.info({"version": VERSION})
        self.queue = QueueMetrics(self.series)
        self.bursts = BurstMetrics(self.series)
        self.starts = StartMetrics(self.series)
        self.teams = TeamMetrics(self.series)
        self.moves = running_jobs.MigrationMetrics(self.series)
        self.scaling = running_jobs.ScalingMetrics(self.series)
        self.parking = running_jobs.ParkingMetrics(self.series)
        self.training_faults = running_jobs.TrainingFaultMetrics(self.series)
        self.cluster = ClusterMetrics(self.series)
        self.admission = AdmissionMetrics(self.series)
        self.certificates = CertificateMetrics(self.series)
        self.connections = ConnectionMetrics(self.series)
        self.requests = RequestMetrics(self.series)
        self.watches = WatchMetrics(self.series)
        self._of_writes()
        self._of_decision_log()
        self._of_agents()
        self._of_cpu_weights()
        self._of_the_process()

    def _of_writes(self) -> None:
        self.releases = self.series.counter("shuntyard_releases", "Pods released from the queue.")
        self.replans = self.series.counter(
            "shuntyard_replans", "Reservations that moved to another of the pod's pinned nodes."
        )
        self.bindings = self.series.counter(
            "shuntyard_bindings", "Bindings sent, by outcome.", outcome=Bound
        )
        self.signatures_refused = self.series.counter(
            "shuntyard_signatures_refused",
            "Reservations, records on owners and Migrations that are ignored because their "
            "signature is missing or wrong, by what they are and why.",
            what=Signed,
            why=Fault,
        )
        self.deletions = self.series.counter(
            "shuntyard_deletions",
            "Pods that were deleted so that their owner makes new ones, by cause.",
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
            "New segments of the decision log; each begins with the whole state.",
        )
        self.decision_log_dropped = self.series.counter(
            "shuntyard_decision_log_dropped",
            "Records that are missing in the decision log, by why.",
            why=Losing,
        )

    def _of_agents(self) -> None:
        self.heartbeats = self.series.counter(
            "shuntyard_heartbeats", "Agents' heartbeats that were accepted, by kind.", kind=Kind
        )
        self.token_reviews = self.series.counter(
            "shuntyard_token_reviews",
            "Tokens that the API server reviewed, by verdict.",
            verdict=Reviewed,
        )
        self.access_reviews = self.series.counter(
            "shuntyard_access_reviews",
            "Access reviews of callers of the read API, by verdict.",
            verdict=Access,
        )
        self.agent_events = self.series.counter(
            "shuntyard_agent_events",
            "Events of pods that agents report, by kind: a metric that is not a number, a restart, "
            "a new category, a truncated log.",
            kind=Happening,
        )
        self.reporting_nodes = self.series.gauge(
            "shuntyard_reporting_nodes",
            "Nodes by the state of their agent's reports.",
            state=Reporting,
        )

    def _of_cpu_weights(self) -> None:
        self.resizes = self.series.counter(
            "shuntyard_resizes",
            "Changes of CPU requests in place, by outcome; a change that the node defers or finds "
            "infeasible is counted as raised or lowered too.",
            outcome=Resizing,
        )
        self.resized_pods = self.series.gauge(
            "shuntyard_resized_pods", "Pods whose CPU request differs from that of their owners."
        )

    def _of_the_process(self) -> None:
        self.acting = self.series.gauge(
            "shuntyard_acting", "1 while this replica is the leader, else 0."
        )
        self.loop_lag_seconds = self.series.histogram(
            "shuntyard_loop_lag_seconds",
            "Delay of the event loop: how late it runs a timer.",
            LAG_BUCKETS_SECONDS,
        )

    def observe_reports(self, nodes: Mapping[Reporting, int]) -> None:
        """Set the number of nodes by the state of their agent's reports."""
        for state in Reporting:
            self.reporting_nodes.labels(state=state.value).set(nodes.get(state, 0))

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus; takes milliseconds."""
        return generate_latest(self.registry)
