"""A simulated cluster of jobs with a utility, slot by slot; writes are observed at once."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.pricing import SlotTimeParameters
from extender.core.pricing.decision import PRICING, PricingTrigger
from extender.core.pricing.history import History
from extender.core.pricing.outcome import PricingOutcome, PricingState
from extender.core.queue import slot_gate
from extender.core.records import slot_plan
from extender.core.records.slot_plan import SlotPlan
from extender.store.store import ClusterStore
from shared import labels
from shared.model import (
    Delete,
    JobKey,
    Node,
    NodeName,
    Owner,
    Pod,
    PodKey,
    Uid,
    Upsert,
    WorkerCount,
)
from tests.fakes.builders import make_owner, make_pod
from tests.fakes.reports import make_pod_report, make_report

SLOT = 600.0
_SERVERS = 1000
"""Index of the first parameter server, behind those of the workers, whose number changes."""
START = 1_000 * SLOT
"""Start time of the simulated cluster: the beginning of slot 1000."""


def slots(**fields: Any) -> SlotTimeParameters:
    return SlotTimeParameters(
        **{"enabled": True, "slot_seconds": SLOT, "horizon": 10, "share": 1.0} | fields
    )


def params(**fields: Any) -> CoreParameters:
    times = {k: fields.pop(k) for k in list(fields) if k in SlotTimeParameters.__dataclass_fields__}
    return CoreParameters(slot_time=slots(**times), **fields)


def training(work: int, chunks: int) -> str:
    """A training of so many worker-slots for at most so many workers."""
    return f"epochs={work},chunks={chunks},batches=1,step={SLOT / chunks!r}s"


def priced_job(
    name: str,
    workers: int,
    *,
    work: int,
    most: int | None = None,
    least: int | None = None,
    chunks: int | None = None,
    utility: str = "sigmoid:100,0,24h",
    created_at: float = START,
    ps: int = 0,
    checkpoint: bool = True,
    text: str | None = None,
    **pod: Any,
) -> list[Owner | Pod]:
    """A Job with gated workers; elastic if it has a least and a most; it can be suspended."""
    notes = {labels.UTILITY: utility}
    notes[labels.TRAINING] = text or training(work, chunks or most or workers)
    if most is not None:
        notes[labels.WORKERS] = f"{least or 1}..{most}"
    if checkpoint:
        notes[labels.CHECKPOINT] = "/ckpt"
    owner = replace(
        make_owner(name, size=workers + ps, created_at=created_at, annotations=notes),
        suspend_field="/spec/suspend",
        counts=(WorkerCount(count=workers, fields=("/spec/parallelism",)),),
    )
    common: dict[str, Any] = {"owner": owner, "gated": True, "created_at": created_at}
    servers = [
        make_pod(f"{name}-ps-{i}", role="ps", index=_SERVERS + i, **common, **pod.get("ps_pod", {}))
        for i in range(ps)
    ]
    pod.pop("ps_pod", None)
    role: dict[str, Any] = {"role": "worker"} if ps else {}
    worker_pods = [
        make_pod(f"{name}-{i}", index=i, **role, **common, **pod) for i in range(workers)
    ]
    return [owner, *servers, *worker_pods]


class PricedCluster:
    """The store, the clock and the controller's state of a simulated cluster."""

    def __init__(self, nodes: Iterable[Node], parameters: CoreParameters) -> None:
        self.store = ClusterStore(labels.SCHEDULER_NAME)
        self.params = parameters
        self.now = START
        self.history = History()
        self.state = PricingState()
        self.last: PricingOutcome | None = None
        self._versions = 1
        self._templates: dict[str, Pod] = {}
        self.add(*nodes)

    @property
    def slot(self) -> int:
        return int(self.now // self.params.slot_time.slot_seconds)

    def add(self, *entities: Any) -> None:
        for item in entities:
            for entity in item if isinstance(item, list | tuple) else [item]:
                self.store.apply(Upsert(entity))

    def remove(self, entity: Any) -> None:
        self.store.apply(Delete(type(entity).__name__, entity.key, entity.uid))

    def run_pass(self, *, apply: bool = True) -> PricingOutcome:
        reading = Reading(self.now, self.now)
        snapshot = self.store.snapshot()
        state = replace(self.state, history=self.history)
        session = Session(snapshot, reading, self.params)
        outcome = PRICING.decide(session, state, PricingTrigger())
        self.state = outcome.state
        self.last = outcome
        for command in outcome.commands if apply else ():
            self.write(command.owner, command.annotations)
        return outcome

    def write(self, owner: Owner, annotations: Mapping[str, str | None]) -> None:
        stored = self.store.snapshot().owners.remembered(owner.namespace, owner.uid)
        assert stored is not None
        assert stored.resource_version == owner.resource_version
        self._versions += 1
        notes = {**stored.annotations, **annotations}
        kept = {key: value for key, value in notes.items() if value is not None}
        version = str(1000 + self._versions)
        self.add(replace(stored, annotations=kept, resource_version=version))

    def plans(self) -> dict[str, SlotPlan]:
        """Return the plans by name of the job."""
        plans = slot_plan.plans_by_job(self.store.snapshot())
        return {key.rsplit("/", 1)[1]: owned.plan for key, owned in plans.items()}

    def counts(self, name: str) -> dict[int, int]:
        """Return workers by slot; slot 1 is the first of the simulated cluster."""
        plan = self.plans()[name]
        first = int(START // plan.slot_seconds)
        return {
            slot - first + 1: plan.workers_at(slot)
            for span in plan.spans
            for slot in range(span.first, span.last + 1)
        }

    def follow_plans(self) -> None:
        """Scale and place all jobs by their plans for the present slot; end those that are done."""
        for name, plan in sorted(self.plans().items()):
            if plan.spans and plan.completion < self.slot:
                self.finish(name)
            elif plan.spans:
                self.scale(name, plan)

    def scale(self, name: str, plan: SlotPlan) -> None:
        """Give the job its workers of this slot: the first by index stay where they are."""
        span = plan.at(self.slot)
        workers = self._of(name, "worker") or self._of(name, "")
        servers = self._of(name, "ps")
        template = (
            self._templates.setdefault(name, workers[0]) if workers else self._templates[name]
        )
        wanted = 0 if span is None else sum(span.workers.values())
        for pod in [*workers[wanted:], *(() if wanted else servers)]:
            self.remove(pod)
        self._suspend(name, suspended=wanted == 0)
        if span is None:
            return
        placed = {i: pod.node_name for i, pod in enumerate(workers[:wanted]) if pod.node_name}
        nodes = slot_gate.worker_nodes(plan, self.slot)
        current = list(placed.values())
        free = slot_gate.left(nodes, current)
        assert len(free) + len(current) == wanted, (name, "a pod would have to move", span, placed)
        nodes = iter(free)
        for i in range(wanted):
            node = placed.get(i) or next(nodes)
            pod = self._new_pod(template, f"{name}-{i}", i) if i >= len(workers) else workers[i]
            self.add(replace(pod, gates=(), node_name=node, phase="Running"))
        nodes = iter(slot_gate.server_nodes(plan, self.slot))
        for pod in servers:
            node = pod.node_name or next(nodes)
            self.add(replace(pod, gates=(), node_name=node, phase="Running"))

    def _of(self, name: str, role: str) -> list[Pod]:
        pods = self.store.snapshot().jobs.get(JobKey(f"default/job/{name}"), ())
        mine = [pod for pod in pods if pod.labels.get(labels.ROLE, "") == role]
        return sorted(mine, key=lambda pod: int(pod.name.rsplit("-", 1)[1]))

    def _new_pod(self, template: Pod, name: str, index: int) -> Pod:
        tags = {**template.labels, labels.JOB_INDEX_LABEL: str(index)}
        return replace(
            template, name=name, uid=Uid(f"{name}-{self.now:.0f}"), labels=tags, created_at=self.now
        )

    def _suspend(self, name: str, *, suspended: bool) -> None:
        owner = self.owner(name)
        if owner.suspended != suspended:
            self.add(replace(owner, suspended=suspended))

    def owner(self, name: str) -> Owner:
        owners = self.store.snapshot().owners
        return next(owner for owner in owners if owner.name == name)

    def report(self, name: str, done: float) -> None:
        """Report the share of the training that is done by agents."""
        snapshot = self.store.snapshot()
        for pod in snapshot.jobs[JobKey(f"default/job/{name}")]:
            node = snapshot.bound.get(pod.uid)
            if node is not None:
                report = make_pod_report(pod.uid, step=round(done * 10_000), total_steps=10_000)
                stored = self.store.reported(node)
                others = [] if stored is None else stored.pods.values()
                reports = {p.uid: p for p in others} | {report.uid: report}
                self.store.report(make_report(node, reports.values(), received_at=self.now))

    def pod(self, name: str) -> Pod:
        return self.store.snapshot().pods[PodKey(f"default/{name}")]

    def finish(self, name: str) -> None:
        """End the job successfully."""
        self._suspend(name, suspended=False)
        for pod in self.store.snapshot().jobs.get(JobKey(f"default/job/{name}"), ()):
            self.add(replace(pod, phase="Succeeded", node_name=pod.node_name or NodeName("n")))
