"""Messages between agent and extender on the agents' listener.

Bodies of ``POST /v1/heartbeats`` and ``GET /v1/nodes/{node}/pods``, version 1. A body with another
version, an unknown key or a value out of bounds is refused with the field's path. Names and
meanings of the fields are those of ``shared.progress``.
"""

from typing import Annotated, Final, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from shared.progress import Category, CheckpointPhase, Goal, PodReport, Stage

VERSION: Final = 1
MOST_PODS: Final = 1000
MOST_EVENTS: Final = 1000
MOST_CURVE_POINTS: Final = 32

Text = Annotated[str, Field(max_length=1024)]
Name = Annotated[str, Field(min_length=1, max_length=253)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=0, le=2**63 - 1)]
Ratio = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class WireModel(BaseModel):
    """Frozen; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SpanBody(WireModel):
    """See ``progress.Span``."""

    value: Finite
    low: Finite
    high: Finite


class PaceBody(WireModel):
    """See ``progress.Pace``."""

    moved_at: Amount
    gaps: Whole = 0
    usual_seconds: Amount = 0.0
    longest_seconds: Amount = 0.0


class EvidenceBody(WireModel):
    """See ``progress.Evidence``."""

    stage: Stage = Stage.TOO_EARLY
    since_step: Finite | None = None
    level: Finite | None = None
    spread: Amount | None = None


class ProgressBody(WireModel):
    """See ``progress.Progress``."""

    metric: Name
    source: Name
    updated_at: Amount
    goal: Goal = Goal.MIN
    step: Whole | None = None
    total_steps: Whole | None = None
    value: Finite | None = None
    first_value: Finite | None = None
    best_value: Finite | None = None
    points: Whole = 0
    category: Category = Category.PROGRESSING
    specon: Category | None = None
    evidence: EvidenceBody | None = None
    growth: Finite | None = None
    converged_at: Amount | None = None
    attempt: Annotated[int, Field(ge=1, le=2**63 - 1)] = 1
    diverged: bool = False
    bad_values: Whole = 0
    bad_since_step: Whole | None = None
    pace: PaceBody | None = None
    curve: Annotated[tuple[Finite, ...], Field(max_length=MOST_CURVE_POINTS)] = ()
    remaining_seconds: SpanBody | None = None
    remaining_loss: SpanBody | None = None


class CheckpointBody(WireModel):
    """See ``progress.Checkpoint``."""

    problem: Text = ""
    detail: Text = ""
    step: Whole | None = None
    saved_at: Amount | None = None
    save_seconds: Amount | None = None
    save_bytes: Whole | None = None
    phase: CheckpointPhase = CheckpointPhase.NONE
    request: Text = ""
    acked_step: Whole | None = None
    path: Text = ""
    resumed_step: Whole | None = None
    done: bool = False


class UseBody(WireModel):
    """See ``progress.Use``."""

    cpu_cores: Amount | None = None
    memory_bytes: Whole | None = None
    throttled_ratio: Ratio | None = None
    cpu_pressure_ratio: Ratio | None = None
    gpu_ratio: Ratio | None = None
    gpu_memory_bytes: Whole | None = None
    idle_seconds: Amount | None = None


class PodBody(WireModel):
    """See ``progress.PodReport``."""

    uid: Name
    progress: ProgressBody | None = None
    checkpoint: CheckpointBody | None = None
    use: UseBody | None = None
    problem: Text = ""

    def report(self) -> PodReport:
        """Return the report for decisions."""
        return msgspec.convert(self.model_dump(), PodReport)


class Event(WireModel):
    """An event of a pod that must not be lost between two reports.

    Attributes:
        uid: The pod.
        at: When, on the agent's clock.
        kind: ``nan``: the metric was NaN or infinite; ``restart``: the step went back;
            ``category``: ``detail`` is the new category; ``truncated``: a log file was cut.
        detail: In words.
    """

    uid: Name
    at: Amount
    kind: Literal["nan", "restart", "category", "truncated"]
    detail: Text = ""


class Heartbeat(WireModel):
    """Report of an agent.

    Attributes:
        version: Version of this schema.
        node: The agent's node; must be the node of its token's pod.
        boot: Id of this run of the agent.
        sequence: 1, 2, 3, … within one run, counted for each replica.
        sent_at: When, on the agent's clock.
        full: ``pods`` are all pods of ours on the node; otherwise those that changed since the
            last heartbeat that this replica answered.
        use: Of the whole node.
        cpu_cores: Cores of the node.
        pods: Their reports.
        gone: Pods that were reported and do not exist any more; empty in a full report.
        events: Since the last heartbeat that this replica answered.
        dropped: Events dropped since the agent started.
    """

    version: Literal[1] = VERSION
    node: Name
    boot: Annotated[str, Field(min_length=1, max_length=64)]
    sequence: Annotated[int, Field(ge=1, le=2**63 - 1)]
    sent_at: Amount
    full: bool
    use: UseBody | None = None
    cpu_cores: Amount | None = None
    pods: Annotated[tuple[PodBody, ...], Field(max_length=MOST_PODS)] = ()
    gone: Annotated[tuple[Name, ...], Field(max_length=MOST_PODS)] = ()
    events: Annotated[tuple[Event, ...], Field(max_length=MOST_EVENTS)] = ()
    dropped: Whole = 0


class CheckpointRequest(WireModel):
    """Request a checkpoint from a trainer; repeated in every answer while it is wanted.

    Attributes:
        id: Id of the request: the same id is the same request.
        uid: The pod.
        deadline: The trainer must have answered by then; seconds since the epoch.
        hold_deadline: Until when it holds after its ack; then it goes on.
        reason: For people.
    """

    kind: Literal["checkpoint"] = "checkpoint"
    id: Name
    uid: Name
    deadline: Amount
    hold_deadline: Amount
    reason: Text = ""


class CheckpointCancel(WireModel):
    """Cancel the request: the trainer goes on."""

    kind: Literal["cancel"] = "cancel"
    id: Name
    uid: Name


Command = Annotated[CheckpointRequest | CheckpointCancel, Field(discriminator="kind")]


class HeartbeatAnswer(WireModel):
    """Answer of a replica.

    Attributes:
        version: Version of this schema.
        acting: Whether the replica is the leader; only then there are commands.
        full_wanted: The replica does not know the whole node: the next heartbeat must be full.
        commands: Commands for the agent; carrying one out twice is the same as once.
    """

    version: Literal[1] = VERSION
    acting: bool
    full_wanted: bool = False
    commands: tuple[Command, ...] = ()


class PodPlace(WireModel):
    """One of our pods on the node: what an agent needs to find its files.

    Attributes:
        job: Name of its job, the directory below the namespace on the shared volume.
        role: ``worker``, ``ps``, …; empty if it has none.
        index: Its index within the job; None if it has none.
        metrics: Value of the annotation ``shuntyard.io/metrics``, the pod's before its owner's;
            None if there is none.
        checkpoint: The same of ``shuntyard.io/checkpoint``.
    """

    namespace: Name
    name: Name
    uid: Name
    job: Name
    role: str = ""
    index: int | None = None
    created_at: Amount
    metrics: str | None = None
    checkpoint: str | None = None


class NodePods(WireModel):
    """Answer to ``GET /v1/nodes/{node}/pods``; its ETag lets an unchanged answer be 304."""

    version: Literal[1] = VERSION
    node: Name
    pods: tuple[PodPlace, ...] = ()
