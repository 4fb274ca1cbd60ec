"""Whole runs of elastic jobs on a virtual clock: queue, changes of workers, and their owners."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from msgspec.structs import replace

from extender.core.cluster.commands import ChangeOwner, ReleaseGang
from extender.core.cluster.session import Reading, Session, States
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic.decision import ElasticDecision, ElasticTrigger
from extender.core.elastic.measured_speeds import SpeedMemory
from extender.core.elastic.proposals import proposals
from extender.core.elastic.state import ElasticState
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.decision import QUEUE, QueueOutcome
from extender.core.queue.state import QueueState
from extender.core.records.rescale import Proposal
from shared import labels
from shared.model import Delete, JobKey, Node, NodeName, Owner, Pod, Upsert
from tests.fakes.builders import make_pod
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import store_of
from tests.unit.core.elastic.elastic_cluster import key_of, owner_of

START: Final = 1000.0
STEP_SECONDS: Final = 10.0


@dataclass(frozen=True)
class Spec:
    """A job of workers; times in seconds since the beginning of the run.

    Attributes:
        workers: How many it comes with.
        least: With ``most`` its range; 0: it has none.
        cpu: Of a worker.
        lasts: How long it runs; None: for ever.
        at: Nodes of its workers, if it runs from the beginning.
    """

    name: str
    workers: int
    least: int = 0
    most: int = 0
    cpu: str = "1"
    priority: int = 0
    comes_at: float = 0.0
    lasts: float | None = None
    at: Sequence[str] = ()

    @property
    def key(self) -> JobKey:
        return key_of(self.name)

    @property
    def range(self) -> str:
        return f"{self.least}..{self.most}" if self.least else ""


class World:
    """Pods run at once when they are released, and are gone at once when their owner shrinks.

    Attributes:
        started: When each job started, since the beginning.
        counts: All numbers that were written to each owner, in order.
        proposed: Snapshot and proposals of every look.
    """

    def __init__(
        self, nodes: Sequence[Node], specs: Iterable[Spec], params: CoreParameters | None = None
    ) -> None:
        self.params = params or CoreParameters()
        self.specs = {spec.key: spec for spec in specs}
        self.store = store_of(list(nodes))
        self.memory, self.rescales, self.now = QueueState(), ElasticState(), START
        self.started: dict[str, float] = {}
        self.counts: dict[str, list[int]] = {}
        self.proposed: list[tuple[Snapshot, tuple[Proposal, ...]]] = []
        self._coming = sorted(self.specs.values(), key=lambda spec: (spec.comes_at, spec.name))
        self._ends: dict[JobKey, float] = {}
        self._come()

    @property
    def reading(self) -> Reading:
        return Reading(self.now, self.now)

    def run(self, steps: int) -> Self:
        for _ in range(steps):
            self.step()
        return self

    def step(self) -> None:
        """What is due comes and ends; owners act; then a cycle, and a look."""
        self._come()
        self._end()
        self.control()
        self.cycle()
        self.look()
        self.now += STEP_SECONDS

    def cycle(self) -> QueueOutcome:
        found = queue_pass(self.store.snapshot(), self.memory, self.reading, self.params)
        self.memory = found.state
        for command in found.commands:
            if isinstance(command, ReleaseGang):
                self._start(command)
        return found

    def look(self) -> None:
        """One look at the workers, carried out."""
        snapshot = self.store.snapshot()
        states = States({QUEUE.name: self.memory})
        session = Session(snapshot, self.reading, self.params, states)
        trigger = ElasticTrigger(due=True)
        found = ElasticDecision(self._propose).decide(session, self.rescales, trigger)
        self.rescales = found.state
        for command in found.commands:
            self._change(command)

    def control(self) -> None:
        """Owners make the pods that are wanted, and delete those of the highest indices."""
        snapshot = self.store.snapshot()
        for owner in snapshot.owners:
            pods = snapshot.jobs.get(key_of(owner.name), ())
            if any(pod.finished for pod in pods):
                continue
            wanted = owner.counts[0].count
            for pod in pods:
                if _index(pod) >= wanted:
                    self.store.apply(Delete("Pod", pod.key, pod.uid))
            for index in set(range(wanted)) - {_index(pod) for pod in pods}:
                self.store.apply(Upsert(self._pod(owner, index)))

    def _propose(self, session: Session, speeds: SpeedMemory) -> tuple[Proposal, ...]:
        found = proposals(session, speeds)
        self.proposed.append((session.snapshot, found))
        return found

    def _come(self) -> None:
        while self._coming and START + self._coming[0].comes_at <= self.now:
            spec = self._coming.pop(0)
            owner = owner_of(spec.name, spec.workers, workers=spec.range, created_at=self.now)
            self.store.apply(Upsert(owner))
            self.counts[spec.name] = [spec.workers]
            for index in range(spec.workers):
                node = spec.at[index] if index < len(spec.at) else None
                self.store.apply(Upsert(self._pod(owner, index, node)))
            if spec.at:
                self._began(spec)

    def _end(self) -> None:
        for key in [key for key, at in self._ends.items() if at <= self.now]:
            del self._ends[key]
            for pod in self.store.snapshot().jobs.get(key, ()):
                if pod.node_name is None:
                    self.store.apply(Delete("Pod", pod.key, pod.uid))
                else:
                    self.store.apply(Upsert(replace(pod, phase="Succeeded")))

    def _pod(self, owner: Owner, index: int, node: str | None = None) -> Pod:
        spec = self.specs[key_of(owner.name)]
        placed = (
            {} if node is None else {"node": node, "reservation": node, "plan": f"p-{owner.name}"}
        )
        name = f"{owner.name}-{index}"
        return make_pod(
            name,
            uid=f"{name}-{self.now:.0f}",
            owner=owner,
            index=index,
            cpu=spec.cpu,
            memory="0",
            priority=spec.priority,
            gated=node is None,
            created_at=self.now,
            **placed,
        )

    def _start(self, gang: ReleaseGang) -> None:
        pods = self.store.snapshot().pods
        for one in gang.pods:
            pod = pods[one.pod]
            notes = {labels.NODE: str(one.node), labels.PLAN: one.plan}
            bound = replace(
                pod,
                gates=(),
                annotations={**pod.annotations, **notes},
                node_name=NodeName(one.node or ""),
                phase="Running",
                scheduled_at=self.now,
            )
            self.store.apply(Upsert(bound))
        self._began(self.specs[JobKey(gang.job)])

    def _began(self, spec: Spec) -> None:
        if spec.name not in self.started:
            self.started[spec.name] = self.now - START
            if spec.lasts is not None:
                self._ends[spec.key] = self.now + spec.lasts

    def _change(self, command: ChangeOwner) -> None:
        owner = self.store.snapshot().owners.remembered("default", command.owner.uid)
        assert owner == command.owner
        notes: Mapping[str, str | None] = {**owner.annotations, **command.annotations}
        count = dict(command.fields).get("/spec/parallelism", owner.counts[0].count)
        changed = replace(
            owner,
            resource_version=f"{int(owner.resource_version) + 1}",
            size=count,
            counts=(replace(owner.counts[0], count=count),),
            annotations={k: v for k, v in notes.items() if v is not None},
        )
        if count != owner.counts[0].count:
            self.counts[owner.name].append(count)
        self.store.apply(Upsert(changed))


def _index(pod: Pod) -> int:
    return int(pod.labels[labels.JOB_INDEX_LABEL])
