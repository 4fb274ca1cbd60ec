"""Pods whose CPU requests follow their work, and passes over them with a fake API server."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from extender.core.cluster.session import Reading, Session
from extender.core.cpu_shares.commands import Resized, ResizeNode, ResizePod, ResizeResult
from extender.core.cpu_shares.decision import CPU_SHARES, CpuSharesOutcome, CpuSharesTrigger
from extender.core.cpu_shares.state import CpuSharesState
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.cpu_shares import CpuShareParameters
from extender.store.store import ClusterStore
from shared import labels
from shared.model import ContainerCpu, Entity, NodeName, Pod, PodKey, Uid, Upsert
from shared.objects.pod_cpu import GivenCpu
from shared.progress import Category, PodReport, Span, Use
from tests.fakes.builders import make_node, make_pod
from tests.fakes.reports import make_pod_report, make_report

ON = CoreParameters(cpu_weights=CpuShareParameters(enabled=True))
OFF = CoreParameters()
PASS_SECONDS = 5.0


def training(
    name: str, now: int = 1000, *, given: int | None = None, limit: int | None = None, **fields: Any
) -> Pod:
    """A Burstable pod on node ``a``; ``given``: that is noted, and ``now`` is not as given."""
    notes = {} if given is None else {labels.CPU_GIVEN: GivenCpu("main", given).text}
    restarts, qos = fields.pop("restarts", False), fields.pop("qos", "Burstable")
    pending, others = fields.pop("pending", ""), fields.pop("others", ())
    pod = make_pod(
        name,
        cpu=f"{now if given is None else given}m",
        annotations={**notes, **fields.pop("annotations", {})},
        **{"node": "a", **fields},
    )
    return replace(
        pod,
        qos=qos,
        cpus=(ContainerCpu("main", now, limit, restarts), *others),
        borrowed_milli=0 if given is None else now - given,
        resize_pending=pending,
    )


def report(
    pod: Pod,
    work: float | None = None,
    *,
    cores: float | None = 1.0,
    step: int | None = 100,
    total_steps: int | None = 200,
    category: Category | None = Category.PROGRESSING,
) -> PodReport:
    """What an agent says; ``work`` in core-seconds, None: it predicts nothing."""
    seconds = None if work is None or not cores else Span(work / cores, 0.0, 0.0)
    values = {"step": step, "total_steps": total_steps, "remaining_seconds": seconds}
    pod_report = make_pod_report(pod.uid, category, **(values if category else {}))
    return replace(pod_report, use=Use(cpu_cores=cores))


class Yard:
    """A store and passes over it; ``carry_out`` executes their commands as the API server would.

    Attributes:
        works: Core-seconds left by name of the pod; None: unknown.
        refused: Names of pods whose changes are refused.
        writes: Names and requests, in order; 0 stands for the removal of a note.
    """

    def __init__(self, *pods: Pod, params: CoreParameters = ON, nodes: Iterable[str] = "ab"):
        self.store = ClusterStore(labels.SCHEDULER_NAME)
        self.params = params
        self.memory = CpuSharesState()
        self.works: dict[str, float | None] = {}
        self.refused: set[str] = set()
        self.writes: list[tuple[str, int]] = []
        self.now = 1000.0
        self.outcomes: tuple[ResizeResult, ...] = ()
        self.put(*(make_node(name) for name in nodes), *pods)

    def put(self, *entities: Entity) -> None:
        for entity in entities:
            self.store.apply(Upsert(entity))

    def pod(self, name: str) -> Pod:
        return self.store.snapshot().pods[PodKey(f"default/{name}")]

    def requests(self) -> dict[str, int]:
        pods = self.store.snapshot().pods.values()
        return {p.name: p.cpus[0].request_milli for p in sorted(pods, key=lambda p: p.name)}

    def noted(self) -> set[str]:
        pods = self.store.snapshot().pods.values()
        return {p.name for p in pods if labels.CPU_GIVEN in p.annotations}

    def report(self, works: Mapping[str, float | None], **fields: Any) -> None:
        """Have every agent report the remaining work of its pods."""
        self.works |= works
        snapshot = self.store.snapshot()
        for node in snapshot.node_table.nodes:
            here = [p for p in snapshot.pods.values() if p.node_name == node.name]
            reports = [
                report(p, self.works[p.name], **fields) for p in here if p.name in self.works
            ]
            self.store.report(make_report(node.name, reports, received_at=self.now))

    def run_pass(
        self, works: Mapping[str, float | None] | None = None, *, due: bool = True, **fields: Any
    ) -> CpuSharesOutcome:
        """Run a pass, ``PASS_SECONDS`` after the last; agents report unless ``works`` is None."""
        self.now += PASS_SECONDS
        leaving = fields.pop("leaving", False)
        if works is not None:
            self.report(works, **fields)
        reading = Reading(self.now, self.now)
        trigger = CpuSharesTrigger(due, leaving, self.outcomes)
        session = Session(self.store.snapshot(), reading, self.params)
        outcome = CPU_SHARES.decide(session, self.memory, trigger)
        self.memory, self.outcomes = outcome.state, ()
        return outcome

    def turn(
        self, works: Mapping[str, float | None] | None = None, **fields: Any
    ) -> CpuSharesOutcome:
        """Run a pass and its commands; the watch reports the writes at once."""
        outcome = self.run_pass(works, **fields)
        self.carry_out(outcome.commands)
        return outcome

    def carry_out(self, commands: Iterable[ResizeNode]) -> None:
        outcomes: list[ResizeResult] = []
        for command in commands:
            whole = True
            for pod in command.pods:
                if whole or not pod.raises:
                    outcomes.append(ResizeResult(pod, self._resize(pod)))
                    whole = whole and outcomes[-1].result is Resized.DONE
        self.outcomes = tuple(outcomes)

    def _resize(self, asked: ResizePod) -> Resized:
        pod = self.store.snapshot().pods[asked.pod]
        if pod.name in self.refused:
            return Resized.REFUSED
        assert (asked.uid, asked.resource_version) == (pod.uid, pod.resource_version)
        self.writes.append((pod.name, asked.to_milli if asked.from_milli != asked.to_milli else 0))
        self.put(changed(pod, asked))
        return Resized.DONE


def changed(pod: Pod, asked: ResizePod) -> Pod:
    """The pod after the writes."""
    notes = {labels.CPU_GIVEN: GivenCpu(asked.container, asked.given_milli).text}
    rest = {k: v for k, v in pod.annotations.items() if k != labels.CPU_GIVEN}
    cpus = tuple(
        replace(c, request_milli=asked.to_milli) if c.name == asked.container else c
        for c in pod.cpus
    )
    return replace(
        pod,
        resource_version=str(int(pod.resource_version) + 1),
        annotations=rest if asked.restores else {**rest, **notes},
        cpus=cpus,
        borrowed_milli=asked.to_milli - asked.given_milli,
    )


def on(node: str, outcome: CpuSharesOutcome) -> list[tuple[str, int]]:
    """Return the pods and requests that a pass sets on a node, in order."""
    resizes = {command.node: command.pods for command in outcome.commands}
    pods = resizes.get(NodeName(node), ())
    return [(pod.pod.split("/")[1], pod.to_milli) for pod in pods]


def uid(name: str) -> Uid:
    return Uid(f"default-{name}")


THREE = {"x": 100.0, "y": 200.0, "z": 400.0}
"""Remaining work of the worked example of the policy's page."""


def three() -> Yard:
    """Return the worked example of the policy's page."""
    return Yard(*(training(name) for name in THREE))


def settled() -> Yard:
    """Return the same after its first resizes."""
    yard = three()
    yard.turn(THREE)
    assert yard.requests() == {"x": 1714, "y": 857, "z": 429}
    yard.writes.clear()
    return yard
