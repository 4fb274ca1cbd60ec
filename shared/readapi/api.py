"""Bodies of the read API: ``/v1/queue``, ``nodes``, ``jobs``, ``explain``, ``what-if``.

Keys are snake_case and stable within one ``apiVersion``; fields may be added. Times are seconds
since the epoch; amounts are integers in base units: ``cpu`` in milli-CPU, memory in bytes.
"""

from collections.abc import Mapping

from msgspec import Struct

from shared.progress import Category, GpuHealth, Span, Stage, Use
from shared.readapi.answer import API_VERSION as API_VERSION  # noqa: PLC0414 - found here by all
from shared.readapi.answer import CheckpointEntry as CheckpointEntry  # noqa: PLC0414 - as above
from shared.readapi.answer import EndEntry, FaultEntry, JobProgress
from shared.readapi.answer import Listed as Listed  # noqa: PLC0414 - as above
from shared.readapi.answer import MemberCounts as MemberCounts  # noqa: PLC0414 - as above
from shared.readapi.answer import Others as Others  # noqa: PLC0414 - as above
from shared.readapi.answer import Response as Response  # noqa: PLC0414 - as above
from shared.readapi.explanation import Ahead, Bill, Change, Checked, Place, Shift, Tried
from shared.readapi.ledgers import (
    Declined,
    MigrationEntry,
    ParkingEntry,
    RescaleEntry,
    WorkersEntry,
)
from shared.readapi.pricing import AdmissionEntry, PricePart
from shared.readapi.scores import MILLI_GPUS as MILLI_GPUS  # noqa: PLC0414 - found here by all
from shared.readapi.scores import WORKERS as WORKERS  # noqa: PLC0414 - as above
from shared.readapi.scores import NodeTerms as NodeTerms  # noqa: PLC0414 - as above
from shared.readapi.scores import StandingEntry
from shared.readapi.scores import Terms as Terms  # noqa: PLC0414 - as above
from shared.readapi.scores import Weight as Weight  # noqa: PLC0414 - as above


class QueueEntry(Struct, frozen=True, kw_only=True):
    """A waiting job.

    Attributes:
        position: 1 is placed first; None if the job cannot start without a change.
        job: The job's name.
        kind: What it is: ``job``, ``statefulset``, ``pytorchjob``, …
        created_at: Seconds since the epoch.
        v: Combined priority V; larger goes first under the order ``cps``.
        waited_seconds: Since it was created.
        members: Pods it has now.
        min_available: Gang size; None if known from nowhere.
        reason: A token of the closed vocabulary.
        message: The same in words.
        estimated_start: When it is expected to start, seconds since the epoch; None if unknown.
        earliest_start, latest_start: Its band, which holds about two thirds of what may come.
        estimate: What the estimate rests on, or why there is none.
        weight: Its key under the order ``weighting``; None under every other.
        standing: Its place under the order ``service``; None under every other.
        max_wait_seconds: How long it may wait at most, as its owner says; None if it does not say.
        workers: How many workers it has and may have; None if their number does not change.
        admission: What it is worth and what was promised; None unless it is admitted by price.
        requests: Amount by resource of all its pods that count, base units.
    """

    position: int | None
    job: str
    namespace: str
    kind: str
    created_at: float
    v: float
    terms: Terms
    waited_seconds: float
    members: int
    min_available: int | None
    reason: str
    message: str
    estimated_start: float | None = None
    earliest_start: float | None = None
    latest_start: float | None = None
    estimate: str = ""
    weight: Weight | None = None
    standing: StandingEntry | None = None
    max_wait_seconds: float | None = None
    workers: WorkersEntry | None = None
    admission: AdmissionEntry | None = None
    requests: Mapping[str, int] = {}


class QueueResponse(Listed, frozen=True, kw_only=True):
    """The queue, in order; jobs without a position stand at the end.

    Attributes:
        acting: Whether the replica that answers is the one that decides.
        order: How jobs are ordered: ``cps``, ``creation``, ``weighting`` or ``service``.
        others: Waiting jobs of namespaces that are not listed; None if all are, and after the first
            page.
    """

    acting: bool
    order: str
    entries: tuple[QueueEntry, ...] = ()
    others: Others | None = None


class AgentEntry(Struct, frozen=True, kw_only=True):
    """The state of a node's agent.

    Attributes:
        age_seconds: Since its last heartbeat.
        stale: That is too long for decisions.
        complete: It has reported every pod.
        progressing: Pods of ours by category; those without a metric are in none.
        use: Use of the node; None if unknown.
        cpu_cores: Cores of the node as the agent sees them.
        gpus: State of its GPUs; None if it has none.
    """

    age_seconds: float
    stale: bool
    complete: bool
    progressing: int = 0
    watching: int = 0
    converged: int = 0
    use: Use | None = None
    cpu_cores: float | None = None
    gpus: GpuHealth | None = None


class NodeEntry(Struct, frozen=True, kw_only=True):
    """A node: what it has, what is taken, what it costs.

    Attributes:
        ready: Without a taint ``node.kubernetes.io/not-ready`` or ``unreachable``.
        unschedulable: Cordoned.
        leaving: By what it announces that it leaves, such as ``cordon`` or ``taint KEY``; empty if
            it does not (docs/drain.md).
        allocatable: Amount by resource, base units.
        used: Amount by resource, base units: bound pods of all schedulers, and seats.
        seats: Pods that are planned here and not bound yet.
        relative_price: Price of its dearest resource: 0 on an idle node, 1 on a full one.
        log_price: ln of that price in units of the idle price (docs/policies/pricing.md).
        agent: State of its agent; None if it never reported.
        domains: By name of a topology level, such as ``rack``: the domain that the node is in.
        gpu_model: Model of its GPUs by its labels; empty if they do not say.
        gpu_devices: Devices that are shared as replicas, by resource; empty if none is.
    """

    name: str
    ready: bool
    unschedulable: bool
    allocatable: Mapping[str, int]
    used: Mapping[str, int]
    seats: int
    relative_price: float
    log_price: float
    leaving: str = ""
    agent: AgentEntry | None = None
    domains: Mapping[str, str] = {}
    gpu_model: str = ""
    gpu_devices: Mapping[str, int] = {}


class NodesResponse(Listed, frozen=True, kw_only=True):
    """All nodes, by name."""

    entries: tuple[NodeEntry, ...] = ()


class ProgressEntry(Struct, frozen=True, kw_only=True):
    """Progress of a job's training, from its first member with a metric.

    Attributes:
        pod: That member.
        metric: Name of the series, e.g. ``eval_loss``.
        source: Format in which it is read, one of ``shared.places.FORMATS``.
        value: Its last finite value.
        step: Last step; None if the source counts none.
        total_steps: Where the run ends; None if unknown.
        curve: At most 32 values, oldest first, evenly spread over the run.
        specon: The category of SpeCon's Algorithm 1.
        stage, evidence: What the whole curve shows, in one word and with its figures.
        remaining, further: Predicted seconds to the end, and improvement until then, with bands.
        attempt: 1, one more after each restart.
        diverged: The last value was no number, or infinite.
        updated_at: When the last value was read, on the node's clock.
        stale: The node's agent has been silent for too long.
    """

    pod: str
    metric: str
    category: Category
    source: str = ""
    value: float | None = None
    step: int | None = None
    total_steps: int | None = None
    curve: tuple[float, ...] = ()
    specon: Category | None = None
    stage: Stage | None = None
    evidence: str = ""
    remaining: Span | None = None
    further: Span | None = None
    attempt: int = 1
    diverged: bool = False
    updated_at: float
    stale: bool = False


class JobEntry(JobProgress, frozen=True, kw_only=True):
    """A job of ours, waiting or not; also what is in ``JobProgress``.

    Attributes:
        created_at: Seconds since the epoch.
        min_available: Gang size; None if known from nowhere.
        members: Pods it has now.
        problem: What is wrong with its labels or annotations; empty if nothing is.
        warnings: Keys of ours on it that have no effect, e.g. misspelt ones.
        nodes: Where its bound and seated members are.
        devices: By node: what those of them that have not ended request of it besides CPU, memory
            and the like, such as GPUs, by resource.
        progress: How far it is; None if no agent knows.
        progress_problem: Why its metrics cannot be read; empty if they can, or were not tried.
        checkpoint: Its last checkpoint; None if it has no checkpoint directory.
        workers: How many workers it has and may have; None if their number does not change.
        admission: What it is worth and what was promised; None unless it is admitted by price.
        end: When it ends, and the source of that; None if none of its pods runs.
        faults: What is wrong with its training; empty if nothing is known to be.
    """

    job: str
    namespace: str
    kind: str
    created_at: float
    min_available: int | None
    members: int
    counts: MemberCounts
    problem: str = ""
    warnings: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    devices: Mapping[str, Mapping[str, int]] = {}
    progress: ProgressEntry | None = None
    progress_problem: str = ""
    checkpoint: CheckpointEntry | None = None
    workers: WorkersEntry | None = None
    admission: AdmissionEntry | None = None
    end: EndEntry | None = None
    faults: tuple[FaultEntry, ...] = ()


class JobsResponse(Listed, frozen=True, kw_only=True):
    """All jobs of ours, by namespace and name."""

    entries: tuple[JobEntry, ...] = ()


class ExplainResponse(Response, frozen=True, kw_only=True):
    """Why a pod is, or would be, where; why a job waits, and what would make it run.

    Attributes:
        job: ``namespace/kind/name``.
        pod: The pod that was asked about; empty for a job.
        state: Where the pod is on its way, as in ``MemberCounts``; empty for a pod not ours. Of a
            job: that of the least advanced of its pods.
        node: Where it is bound or planned; None if nowhere yet.
        reason: Why its job waits; empty if it does not.
        decision: The decision recorded on the pod, one line of JSON; empty if there is none.
        nodes: The nodes that can take the pod now, best first.
        position: Place in the queue; None if it is not in it, or needs a change before it can
            start.
        estimated_start, earliest_start, latest_start, estimate: As of ``QueueEntry``.
        warnings: Keys of ours on the job that have no effect, e.g. misspelt ones.
        ahead: The jobs before it, the nearest first, at most ten.
        counts: Pods of the job by state.
        needs: Pods that must be placed at once so that the gang is whole.
        fits: How many of its waiting pods could be placed together now.
        cause: What decides, as in ``NodeGroup.causes``, or ``annotation``, ``gang-size``,
            ``pods-missing``, ``gate``, ``back-off``, ``old-pod``, ``scheduler``, ``reservation``,
            ``topology``, ``shared-devices``, ``quota``, ``price``, ``slot``; empty if nothing
            hinders.
        short: How much is missing for them, by resource: in total, or where the total is enough,
            on the node that lacks least.
        tried: Its waiting pods by role and shape, with the result of each node.
        changes: What would make it run, the smallest first; each alone is enough.
        workers: How many workers it has and may have; None if their number does not change.
        rescales: Changes of its workers, oldest first.
        parkings: When it was parked, for which job, and what that cost, oldest first.
        declined: Why they are not changed now; None if not examined, or they are.
        admission: What it is worth and what was promised; None unless it is admitted by price.
        price: What its price is made of, the dearest first; of a job that is not admitted.
        faults: What is wrong with its training; empty if nothing is known to be.
        progress: How far its training is; None if no metric is read.
        progress_problem: Why its metrics cannot be read, or not all; empty if they can.
    """

    namespace: str
    pod: str = ""
    job: str
    state: str
    node: str | None = None
    reason: str = ""
    message: str = ""
    decision: str = ""
    nodes: tuple[NodeTerms, ...] = ()
    position: int | None = None
    estimated_start: float | None = None
    earliest_start: float | None = None
    latest_start: float | None = None
    estimate: str = ""
    warnings: tuple[str, ...] = ()
    ahead: tuple[Ahead, ...] = ()
    counts: MemberCounts | None = None
    needs: int = 0
    fits: int = 0
    cause: str = ""
    short: Mapping[str, int] = {}
    tried: tuple[Tried, ...] = ()
    changes: tuple[Change, ...] = ()
    workers: WorkersEntry | None = None
    rescales: tuple[RescaleEntry, ...] = ()
    parkings: tuple[ParkingEntry, ...] = ()
    declined: Declined | None = None
    admission: AdmissionEntry | None = None
    price: tuple[PricePart, ...] = ()
    faults: tuple[FaultEntry, ...] = ()
    progress: ProgressEntry | None = None
    progress_problem: str = ""


class MigrationsResponse(Listed, frozen=True, kw_only=True):
    """The ledger of migrations, oldest first, and the jobs that were not moved.

    Attributes:
        acting: Whether the replica that answers is the one that decides.
    """

    acting: bool
    entries: tuple[MigrationEntry, ...] = ()
    declined: tuple[Declined, ...] = ()


class WhatIfResponse(Response, frozen=True, kw_only=True):
    """What would become of a job if it were submitted now. Nothing was written anywhere.

    Attributes:
        acting: Whether the replica that answers is the one that decides.
        job: ``namespace/kind/name``.
        pods: How many pods it would have.
        starts_now: Whether as many as its gang needs would get their seats at once.
        entry: Its line in the queue: place, V and its terms, reason, estimated start.
        waiting: How many other jobs have a place in that queue.
        places: Where its pods would go if it started now; fewer than ``pods`` if it needs fewer.
        by_node: What these pods would take of each node, by resource, base units.
        bill: What that costs; None if no node has what it asks for.
        shifts: Waiting jobs for which another start is expected with it. Running jobs are not
            among them: those that would be parked for it are in ``obstacles``.
        obstacles: Why it does not start now, and what would make it run; None if it does.
        notes: What is supposed that the manifest does not say, in words.
        checked: Whether the API server has checked the manifest. ``shuntyard what-if`` adds it to
            the answer; None from the extender, and where there is no manifest.
    """

    acting: bool
    job: str
    pods: int
    starts_now: bool
    entry: QueueEntry
    waiting: int
    places: tuple[Place, ...] = ()
    by_node: Mapping[str, Mapping[str, int]] = {}
    bill: Bill | None = None
    shifts: tuple[Shift, ...] = ()
    obstacles: ExplainResponse | None = None
    notes: tuple[str, ...] = ()
    checked: Checked | None = None
