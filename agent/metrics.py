"""Metrics of the agent, and of the pods on its node, on a registry of its own.

Names: ``shuntyard_agent_*``. The series of jobs are bounded: at most those of ``MOST_PODS`` pods on
this node, removed with the pod.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from typing_extensions import override

from agent.checkpoint.rules import Outcome as Command
from agent.reporting.outbox import NodeState
from shared.model import Uid
from shared.progress import GpuHealth, PodReport
from shared.wire import PodPlace

# They would double the series, and are not used.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the library has no annotation

MOST_PODS: Final = 200
"""Pods with series of their own; of more, those that were created first."""
SENDING_BUCKETS_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
READING_BUCKETS_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 10.0)
LABELS: Final = ("job_namespace", "job_name", "role", "index")
"""Not ``namespace`` and ``job``: Prometheus uses those for the target itself."""


class Answer(StrEnum):
    """Outcome of a heartbeat or of a request for the pods."""

    OK = "ok"
    REFUSED = "refused"
    """By the replica; the log has its reason."""
    UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class Series:
    """A metric of each pod.

    Attributes:
        name: Name of the metric.
        text: Its help text.
        value: Returns the value; None: the pod has no such series.
    """

    name: str
    text: str
    value: Callable[[PodReport], float | None]


def _remaining_seconds(pod: PodReport) -> float | None:
    span = pod.progress.remaining_seconds if pod.progress else None
    return span.value if span else None


SERIES: Final = (
    Series(
        "shuntyard_agent_job_step",
        "Last step of the training run, as its source counts.",
        lambda pod: pod.progress.step if pod.progress else None,
    ),
    Series(
        "shuntyard_agent_job_total_steps",
        "Steps of the whole training run, if stated.",
        lambda pod: pod.progress.total_steps if pod.progress else None,
    ),
    Series(
        "shuntyard_agent_job_growth_ratio",
        "Last growth of the metric, by which SpeCon's Algorithm 1 chooses a category.",
        lambda pod: pod.progress.growth if pod.progress else None,
    ),
    Series(
        "shuntyard_agent_job_value",
        "Last value of the metric that is followed.",
        lambda pod: pod.progress.value if pod.progress else None,
    ),
    Series(
        "shuntyard_agent_job_remaining_seconds",
        "Predicted time to the end of the training run.",
        _remaining_seconds,
    ),
    Series(
        "shuntyard_agent_job_checkpoint_step",
        "Step of the last completed checkpoint.",
        lambda pod: pod.checkpoint.step if pod.checkpoint else None,
    ),
    Series(
        "shuntyard_agent_job_checkpoint_timestamp_seconds",
        "When the last checkpoint was completed, seconds since the epoch.",
        lambda pod: pod.checkpoint.saved_at if pod.checkpoint else None,
    ),
    Series(
        "shuntyard_agent_job_cpu_cores",
        "Cores the pod uses, mean of the last sampling interval.",
        lambda pod: pod.use.cpu_cores if pod.use else None,
    ),
    Series(
        "shuntyard_agent_job_memory_bytes",
        "Memory the pod uses (working set).",
        lambda pod: pod.use.memory_bytes if pod.use else None,
    ),
)
CATEGORY: Final = Series(
    "shuntyard_agent_job_category",
    "1 for the training run's category now.",
    lambda pod: 1.0 if pod.progress else None,
)
STAGE: Final = Series(
    "shuntyard_agent_job_stage",
    "1 for what the whole curve of the training run shows now.",
    lambda pod: 1.0 if pod.progress and pod.progress.evidence else None,
)
GPUS: Final[Mapping[str, tuple[str, Callable[[GpuHealth], float | None]]]] = {
    "shuntyard_agent_gpus": ("GPUs of this node.", lambda gpus: gpus.devices),
    "shuntyard_agent_lost_gpus": (
        "GPUs that cannot be read: off the bus, in need of a reset, or without their driver.",
        lambda gpus: gpus.lost,
    ),
    "shuntyard_agent_gpu_uncorrected_errors": (
        "ECC errors that were not corrected, of all GPUs since the driver was loaded.",
        lambda gpus: gpus.uncorrected_errors,
    ),
    "shuntyard_agent_remap_pending_gpus": (
        "GPUs that replace bad memory at their next reset.",
        lambda gpus: gpus.pending_remaps,
    ),
    "shuntyard_agent_remap_failed_gpus": (
        "GPUs that could not replace bad memory.",
        lambda gpus: gpus.failed_remaps,
    ),
}
"""Without series where there is no GPU."""
LEFT_OUT: Final = Series(
    "shuntyard_agent_left_out_pods",
    f"Pods without series of their own: beyond {MOST_PODS}, or of the same labels as another.",
    lambda _pod: None,
)


@dataclass(eq=False)  # the registry keeps it by identity
class PodCollector(Collector):
    """Collects the series of the current pods, and of the node's GPUs.

    Attributes:
        places: The pods.
        state: Their reports.
    """

    places: Mapping[Uid, PodPlace] = field(default_factory=dict)
    state: NodeState = field(default_factory=NodeState)

    @override
    def collect(self) -> Iterator[GaugeMetricFamily]:
        pods = self._chosen()
        for series in SERIES:
            yield _family(series, LABELS, _values(series, pods))
        categories = (
            ((*labels, pod.progress.category.value), 1.0)
            for labels, pod in pods.items()
            if pod.progress
        )
        yield _family(CATEGORY, (*LABELS, "category"), categories)
        stages = (
            ((*labels, pod.progress.evidence.stage.value), 1.0)
            for labels, pod in pods.items()
            if pod.progress and pod.progress.evidence
        )
        yield _family(STAGE, (*LABELS, "stage"), stages)
        yield from _of_gpus(self.state.gpus)
        yield _family(LEFT_OUT, (), [((), float(len(self.places) - len(pods)))])

    def _chosen(self) -> dict[tuple[str, ...], PodReport]:
        """Return the report for each set of labels, of the newest pod: older ones are ending."""
        oldest_first = sorted(self.places.values(), key=lambda place: place.created_at)
        chosen: dict[tuple[str, ...], PodReport] = {}
        for place in oldest_first:
            labels = _labels(place)
            report = self.state.pods.get(Uid(place.uid))
            if report is not None and (labels in chosen or len(chosen) < MOST_PODS):
                chosen[labels] = report
        return chosen


class AgentMetrics:
    """All metrics of one agent; its loops update the public attributes.

    Args:
        version: Of the installed package.
    """

    def __init__(self, version: str = "") -> None:
        self.registry = CollectorRegistry()
        self.pods = PodCollector()
        self.registry.register(self.pods)
        ProcessCollector(registry=self.registry)
        Info("shuntyard_agent_build", "The version that runs.", registry=self.registry).info(
            {"version": version}
        )
        self._add_report_metrics()
        self._add_file_metrics()

    def _add_report_metrics(self) -> None:
        self.heartbeats = self._counter(
            "shuntyard_agent_heartbeats", "Heartbeats sent to replicas, by outcome.", Answer
        )
        self.heartbeat_seconds = Histogram(
            "shuntyard_agent_heartbeat_duration_seconds",
            "From sending a heartbeat to its answer.",
            buckets=SENDING_BUCKETS_SECONDS,
            registry=self.registry,
        )
        self.heartbeat_bytes = self._counter(
            "shuntyard_agent_heartbeat_bytes", "Size of the heartbeats as sent."
        )
        self.discoveries = self._counter(
            "shuntyard_agent_discoveries", "Requests for the pods of this node.", Answer
        )
        self.replicas = self._gauge("shuntyard_agent_replicas", "Replicas that get reports.")
        self.dropped_events = self._gauge(
            "shuntyard_agent_dropped_events",
            "Events dropped since the start, for the replica that lost most.",
        )
        self.commands = self._counter(
            "shuntyard_agent_commands", "Commands of the extender, by outcome.", Command
        )

    def _add_file_metrics(self) -> None:
        self.reading_seconds = Histogram(
            "shuntyard_agent_reading_duration_seconds",
            "Time to read all files that are due once.",
            buckets=READING_BUCKETS_SECONDS,
            registry=self.registry,
        )
        self.hanging_seconds = self._gauge(
            "shuntyard_agent_hanging_seconds",
            "Duration of the current reading, if it is too long; else 0.",
        )
        self.followed_files = self._gauge("shuntyard_agent_followed_files", "Files followed.")
        self.points = self._counter("shuntyard_agent_points", "Values of metrics that were read.")
        self.lines = self._counter("shuntyard_agent_lines", "Lines that were read.")
        self.dropped_lines = self._counter(
            "shuntyard_agent_dropped_lines", "Lines of which a part was dropped."
        )
        self.dropped_bytes = self._counter(
            "shuntyard_agent_dropped_bytes", "Bytes of logs that were dropped or skipped."
        )

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus; takes milliseconds."""
        return generate_latest(self.registry)

    def _counter(self, name: str, text: str, outcome: type[StrEnum] | None = None) -> Counter:
        names = () if outcome is None else ("outcome",)
        counter = Counter(name, text, names, registry=self.registry)
        for value in outcome or ():
            counter.labels(outcome=value.value)
        return counter

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, registry=self.registry)


def _values(
    series: Series, pods: Mapping[tuple[str, ...], PodReport]
) -> Iterator[tuple[tuple[str, ...], float]]:
    for labels, pod in pods.items():
        value = series.value(pod)
        if value is not None:
            yield labels, float(value)


def _family(
    series: Series, names: tuple[str, ...], values: Iterable[tuple[tuple[str, ...], float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(series.name, series.text, labels=names)
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def _of_gpus(gpus: GpuHealth | None) -> Iterator[GaugeMetricFamily]:
    for name, (text, value) in GPUS.items():
        figure = None if gpus is None else value(gpus)
        family = GaugeMetricFamily(name, text, labels=())
        if figure is not None:
            family.add_metric((), float(figure))
        yield family


def _labels(place: PodPlace) -> tuple[str, str, str, str]:
    return place.namespace, place.job, place.role, "" if place.index is None else str(place.index)
