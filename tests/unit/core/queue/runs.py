"""Whole runs of the queue on a virtual clock: jobs come, are released by a pass, and end."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from msgspec.structs import replace

from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import Delete, Entity, JobKey, Upsert
from tests.fakes.builders import make_owner, make_pod, make_shape
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import store_of

START: Final = 1000.0
"""When runs begin: a pod bound at second 0 would count as not bound."""
MOST_PASSES: Final = 2000


@dataclass(frozen=True)
class Spec:
    """A job that will come; times in seconds.

    Attributes:
        comes_at: Since the beginning of the run.
        lasts: True run time; the job states it only if ``stated``.
        max_wait: None: nothing is stated.
        where: Node selector.
    """

    name: str
    size: int = 1
    cpu: str = "1"
    comes_at: float = 0.0
    lasts: float = 10.0
    stated: bool = True
    max_wait: float | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    namespace: str = "default"

    @property
    def key(self) -> JobKey:
        return JobKey(f"{self.namespace}/job/{self.name}")

    def entities(self) -> list[Entity]:
        """The Job and its gated pods."""
        notes = {labels.EXPECTED_DURATION: f"{self.lasts:f}s"} if self.stated else {}
        notes |= {} if self.max_wait is None else {labels.MAX_WAIT: f"{self.max_wait:f}s"}
        born = START + self.comes_at
        place = {"namespace": self.namespace, "created_at": born}
        owner = make_owner(self.name, size=self.size, annotations=notes, **place)
        shape = make_shape(cpu=self.cpu, memory="0", node_selector=self.where)
        pods = [
            make_pod(f"{self.name}-{i}", owner=owner, index=i, gated=True, shape=shape, **place)
            for i in range(self.size)
        ]
        return [owner, *pods]


class World:
    """A cluster whose pods run at once when they are released.

    Attributes:
        now: Seconds since the epoch.
        started: When each job started, by name, since the beginning of the run.
        holders: Time and name of the job for which room was kept, for each pass that kept some.
    """

    def __init__(
        self, nodes: Sequence[Entity], specs: Iterable[Spec], params: CoreParameters | None = None
    ) -> None:
        """``nodes``: and whatever else is there from the beginning."""
        self.params = params or CoreParameters()
        self.specs = {spec.key: spec for spec in specs}
        self.store = store_of(list(nodes))
        self.state, self.now = QueueState(), START
        self.started: dict[str, float] = {}
        self.heads: list[tuple[float, str]] = []
        self._coming = sorted(self.specs.values(), key=lambda spec: spec.comes_at)
        self._ends: dict[JobKey, float] = {}

    @property
    def reading(self) -> Reading:
        return Reading(self.now, self.now)

    def run(self, until: float = 1e9, *, until_held: bool = False) -> Self:
        """Run until nothing happens any more; not beyond ``until``, or the first head."""
        for _ in range(MOST_PASSES):
            outcome = self.run_pass()
            if until_held and outcome.backfill_head is not None:
                return self
            ahead = [*self._ends.values(), *(START + spec.comes_at for spec in self._coming)]
            if outcome.wake_after_seconds is not None:
                ahead.append(self.now + outcome.wake_after_seconds)
            if not ahead or min(ahead) > until:
                return self
            self.now = min(ahead)
        raise AssertionError(f"still not done after {MOST_PASSES} passes")

    def drop_all_but(self, kept: Collection[JobKey]) -> None:
        """Take away the jobs that wait or will come, but for those kept."""
        self._coming = [spec for spec in self._coming if spec.key in kept]
        snapshot = self.store.snapshot()
        for key in snapshot.waiting - set(kept):
            for pod in snapshot.jobs[key]:
                self.store.apply(Delete("Pod", pod.key, pod.uid))

    def observe(self) -> Snapshot:
        """Let come and end what is due; return what is to be seen."""
        while self._coming and START + self._coming[0].comes_at <= self.now:
            for entity in self._coming.pop(0).entities():
                self.store.apply(Upsert(entity))
        for key in [key for key, at in self._ends.items() if at <= self.now]:
            del self._ends[key]
            for pod in self.store.snapshot().jobs[key]:
                self.store.apply(Upsert(replace(pod, phase="Succeeded")))
        return self.store.snapshot()

    def run_pass(self) -> QueueOutcome:
        """Run one pass now and carry it out."""
        snapshot = self.observe()
        outcome = queue_pass(snapshot, self.state, self.reading, self.params)
        self.state = outcome.state
        if outcome.backfill_head is not None:
            self.heads.append((self.now, outcome.backfill_head.job.rpartition("/")[2]))
        for command in outcome.commands:
            if isinstance(command, ReleaseGang):
                self._start(command)
        return outcome

    def _start(self, gang: ReleaseGang) -> None:
        spec = self.specs[JobKey(gang.job)]
        self.started.setdefault(spec.name, self.now - START)
        self._ends[spec.key] = self.now + spec.lasts
        pods = self.store.snapshot().pods
        for one in gang.pods:
            notes = {labels.NODE: str(one.node), labels.PLAN: one.plan}
            pod = replace(
                pods[one.pod],
                gates=(),
                annotations={**pods[one.pod].annotations, **notes},
                node_name=one.node,
                phase="Running",
                scheduled_at=self.now,
            )
            self.store.apply(Upsert(pod))
