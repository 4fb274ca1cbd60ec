"""Gangs and their order as the API server's own watch shows them (pure).

Nothing here comes from the extender, so that it can be checked.

A member is an index in a job, not a pod: its Job's name and completion index, so that a recreated
pod is the same member. A member is bound while a pod of it that is not failed has a node, and
for ever once one has succeeded.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shared import labels
from shared.model import Delete, Delta, Node, NodeName, Pod, Replace, Uid, Upsert

JobName = str
"""``namespace/name``."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event of the watch, and its monotonic time in seconds."""

    at: float
    delta: Delta


@dataclass(frozen=True, slots=True)
class PartialGang:
    """A gang with some members bound and others not, for longer than a bind burst."""

    job: JobName
    since: float
    seconds: float
    bound: int
    min_available: int


@dataclass(slots=True)
class JobHistory:
    """State of a job at one moment.

    Attributes:
        pods: Its pods that exist, by uid.
        released_at: When the first pod was seen without our gate; None while all are gated.
        bound_at: When the first pod was seen on a node.
        nodes: The node of every pod that ever had one.
        done: Members that have succeeded.
    """

    pods: dict[Uid, Pod] = field(default_factory=dict)
    released_at: float | None = None
    bound_at: float | None = None
    last_bound_at: float | None = None
    nodes: dict[Uid, NodeName] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)

    @property
    def bound(self) -> int:
        """Members that are bound or have succeeded."""
        alive = {
            member_of(p)
            for p in self.pods.values()
            if p.node_name is not None and p.phase != "Failed"
        }
        return len(alive | self.done)


def job_of(pod: Pod) -> JobName:
    """Return the job of a pod: our label, else its Job, else itself."""
    name = pod.labels.get(labels.JOB) or pod.labels.get(labels.JOB_NAME_LABEL) or pod.name
    return f"{pod.namespace}/{name}"


def member_of(pod: Pod) -> str:
    """Return the pod's member of its job."""
    index = pod.labels.get(labels.JOB_INDEX_LABEL)
    return f"{pod.labels.get(labels.JOB_NAME_LABEL)}-{index}" if index is not None else pod.name


class Ledger:
    """Pods by job and nodes by name, as of the last event of the watch."""

    def __init__(self) -> None:
        self.jobs: dict[JobName, JobHistory] = {}
        self.nodes: dict[NodeName, Node] = {}

    def apply(self, recorded: Recorded) -> None:
        """Apply one event of the watch."""
        delta = recorded.delta
        if isinstance(delta, Replace):
            for gone in self._missing(delta):
                self.apply(Recorded(recorded.at, gone))
            for entity in delta.entities:
                self.apply(Recorded(recorded.at, Upsert(entity)))
        elif isinstance(delta, Upsert):
            if isinstance(delta.entity, Pod):
                self._see(delta.entity, recorded.at)
            elif isinstance(delta.entity, Node):
                self.nodes[delta.entity.name] = delta.entity
        elif delta.kind == "Pod":
            self._forget(delta)

    def _see(self, pod: Pod, at: float) -> None:
        job = self.jobs.setdefault(job_of(pod), JobHistory())
        job.pods[pod.uid] = pod
        if job.released_at is None and labels.GATE not in pod.gates:
            job.released_at = at
        if pod.node_name is not None and pod.uid not in job.nodes:
            job.nodes[pod.uid] = pod.node_name
            job.last_bound_at = at
            job.bound_at = at if job.bound_at is None else job.bound_at
        if pod.phase == "Succeeded":
            job.done.add(member_of(pod))

    def _forget(self, gone: Delete) -> None:
        for job in self.jobs.values():
            for uid in [u for u, p in job.pods.items() if p.key == gone.key]:
                if gone.uid in {"", uid}:
                    del job.pods[uid]

    def _missing(self, replace: Replace) -> list[Delete]:
        if replace.kind != "Pod":
            return []
        kept = {e.uid for e in replace.entities if isinstance(e, Pod)}
        known = [p for job in self.jobs.values() for p in job.pods.values()]
        return [Delete("Pod", p.key, p.uid) for p in known if p.uid not in kept]


def partial_gangs(
    history: Sequence[Recorded],
    sizes: Mapping[JobName, int],
    *,
    bind_burst_seconds: float,
    until: float,
) -> tuple[PartialGang, ...]:
    """Return every period in which a gang was partial for too long, in order of their beginnings.

    Args:
        history: Events of the watch, in order.
        sizes: How many members each gang needs at least.
        bind_burst_seconds: For how long some members may be bound and the others not yet.
        until: When the watch ended, same clock as the history.
    """
    ledger, since, found = Ledger(), dict[JobName, tuple[float, int]](), list[PartialGang]()

    def close(job: JobName, at: float) -> None:
        begun, bound = since.pop(job)
        if at - begun > bind_burst_seconds:
            found.append(PartialGang(job, begun, at - begun, bound, sizes[job]))

    for recorded in history:
        ledger.apply(recorded)
        for job in sizes.keys() & ledger.jobs.keys():
            bound = ledger.jobs[job].bound
            if 0 < bound < sizes[job]:
                since[job] = (since.get(job, (recorded.at, 0))[0], bound)
            elif job in since:
                close(job, recorded.at)
    for job in list(since):
        close(job, until)
    return tuple(sorted(found, key=lambda gang: (gang.since, gang.job)))


def final(history: Sequence[Recorded]) -> Ledger:
    """Return the state at the end."""
    ledger = Ledger()
    for recorded in history:
        ledger.apply(recorded)
    return ledger


def states(history: Sequence[Recorded]) -> Iterator[tuple[Recorded, Ledger]]:
    """Yield the ledger after each event; it is the same object each time."""
    ledger = Ledger()
    for recorded in history:
        ledger.apply(recorded)
        yield recorded, ledger
