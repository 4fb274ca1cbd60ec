"""Training progress, checkpoints and use of pods, as reported by agents.

Values only: the agent fills them, ``shared.wire`` transports them, decisions read them. Times are
seconds since the epoch on the agent's clock unless a name says otherwise. Decoding checks the
bounds of the fields; encoding leaves out what has its default value. JSON has no number that is not
finite.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

from shared.model import NodeName, Uid

MOST_CURVE_POINTS: Final = 32
LARGEST: Final = 2**63 - 1
Text = Annotated[str, Meta(max_length=1024)]
Name = Annotated[str, Meta(min_length=1, max_length=253)]
Amount = Annotated[float, Meta(ge=0)]
Whole = Annotated[int, Meta(ge=0, le=LARGEST)]
Ratio = Annotated[float, Meta(ge=0, le=1)]


class Category(StrEnum):
    """SpeCon's three categories of a training job (``shared.convergence``)."""

    PROGRESSING = "progressing"
    WATCHING = "watching"
    CONVERGED = "converged"


class Stage(StrEnum):
    """What the whole curve of a training run shows so far (``shared.convergence.evidence``)."""

    UNJUDGED = "not-a-convergence-metric"
    """The metric does not measure convergence, like a reward or one loss of a GAN."""
    TOO_EARLY = "too-early"
    """Too few values."""
    WARM_UP = "warm-up"
    """The learning rate still rises."""
    FLAT = "flat"
    """No improvement since the first values."""
    IMPROVING = "improving"
    PLATEAU = "plateau"
    """At its present slope it would hardly improve until its end."""
    RISING = "rising"
    """Worse than its best, better than its first values."""
    DIVERGING = "diverging"
    """NaN, infinite, or worse than its first values."""


class Goal(StrEnum):
    """Whether a metric is to fall or to rise."""

    MIN = "min"
    MAX = "max"


class CheckpointPhase(StrEnum):
    """How far a checkpoint request has come, as the agent sees it in the pod's directory."""

    NONE = "none"
    """No request."""
    ASKED = "asked"
    """The request file was written; the trainer has not answered."""
    ACKED = "acked"
    """The checkpoint is written; the trainer takes no step until the hold ends."""
    REFUSED = "refused"
    """The trainer could not save; ``problem`` says why."""
    RELEASED = "released"
    """Cancelled, or the hold's deadline passed: the trainer goes on."""


class Span(Struct, frozen=True):
    """A predicted amount with the band that holds about two thirds of what may come."""

    value: float
    low: float
    high: float


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the curve shows, with its figures.

    Attributes:
        stage: In one word.
        since_step: The step at which this began; None where the stage has no beginning.
        level: The metric's present level, a median; None while there are too few values.
        spread: Standard deviation of one point around the curve, 0 or above; of a long run a
            point is the mean of an interval.
    """

    stage: Stage = Stage.TOO_EARLY
    since_step: float | None = None
    level: float | None = None
    spread: Amount | None = None


class Pace(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How regularly values of a pod come, by when its agent reads them.

    Attributes:
        moved_at: When the last new value came.
        gaps: Pauses between values that were measured, the last 256 at most.
        usual_seconds: Their median over the last 32; 0 before the first.
        longest_seconds: The longest of them; 0 before the first.
    """

    moved_at: Amount
    gaps: Whole = 0
    usual_seconds: Amount = 0.0
    longest_seconds: Amount = 0.0


class Progress(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a training run is.

    Attributes:
        metric: Name of the series the category is computed from, e.g. ``eval_loss``.
        goal: Which way it should go.
        source: Format that was read, e.g. ``jsonl``, ``keras``, ``tfevents``.
        step: Last step (iteration, batch or epoch, as the source counts); None if never stated.
        total_steps: Where the run ends; None if unknown.
        value: Last finite value of the metric; None before the first.
        first_value: First value of this run.
        best_value: Best value so far.
        points: Values read so far, all attempts.
        updated_at: When the last value was read.
        category: By the rule of the agent's settings.
        specon: By SpeCon's Algorithm 1; None from an agent that does not report it.
        evidence: What the whole curve shows; None from an agent that does not report it.
        growth: Last growth, in the normalisation of the agent's settings; None before the second
            tick.
        converged_at: When it became converged; None if it is not.
        attempt: 1, one more after each restart (the step went back).
        diverged: The last value was NaN or infinite.
        bad_values: How many values in a row were, up to the last one.
        bad_since_step: Step of the first of them; None if unknown or there are none.
        pace: How regularly values come; None if no value was read yet.
        curve: At most 32 values, oldest first, evenly spread over the run: for a sparkline.
        remaining_seconds: Predicted time to the end (``total_steps``); None if not predictable.
        remaining_loss: Predicted further improvement of the metric until the end.
    """

    metric: Name
    source: Name
    updated_at: Amount
    goal: Goal = Goal.MIN
    step: Whole | None = None
    total_steps: Whole | None = None
    value: float | None = None
    first_value: float | None = None
    best_value: float | None = None
    points: Whole = 0
    category: Category = Category.PROGRESSING
    specon: Category | None = None
    evidence: Evidence | None = None
    growth: float | None = None
    converged_at: Amount | None = None
    attempt: Annotated[int, Meta(ge=1, le=LARGEST)] = 1
    diverged: bool = False
    bad_values: Whole = 0
    bad_since_step: Whole | None = None
    pace: Pace | None = None
    curve: Annotated[tuple[float, ...], Meta(max_length=MOST_CURVE_POINTS)] = ()
    remaining_seconds: Span | None = None
    remaining_loss: Span | None = None


class Checkpoint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the pod's checkpoint directory says (contract: docs/checkpoint-contract.md).

    Attributes:
        problem: Why no checkpoint can be requested; a token: ``CheckpointUnreachable``,
            ``TrainerSilent``, ``ExitsZeroOnTerm``, ``Misconfigured``; empty if it can.
        detail: The same in words.
        step: Step of the last completed checkpoint, requested or not.
        saved_at: When it was completed.
        save_seconds: How long it took.
        save_bytes: How large it is.
        phase: Of the latest request.
        request: Id of that request; empty if there was none.
        acked_step: The step the trainer holds at; None unless acked.
        path: The checkpoint's path as stated by the trainer; empty unless acked.
        resumed_step: The step at which the trainer resumed; None if it began from scratch.
        done: Training is complete.
    """

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


class Use(Struct, frozen=True, kw_only=True):
    """Use of a pod or a node.

    Attributes:
        cpu_cores: Mean since the last sample.
        memory_bytes: Working set.
        throttled_ratio: Part of CPU periods in which it was stopped by its limit, 0 to 1.
        cpu_pressure_ratio: PSI ``some avg10`` of CPU, 0 to 1.
        gpu_ratio: Mean utilisation of its GPUs, 0 to 1.
        gpu_memory_bytes: Of its GPUs.
        idle_seconds: How long its processes have idled after they had worked (``agent.sampling``);
            0 if they do not idle; None if that is not known.
    """

    cpu_cores: Amount | None = None
    memory_bytes: Whole | None = None
    throttled_ratio: Ratio | None = None
    cpu_pressure_ratio: Ratio | None = None
    gpu_ratio: Ratio | None = None
    gpu_memory_bytes: Whole | None = None
    idle_seconds: Amount | None = None


class GpuHealth(Struct, frozen=True, kw_only=True):
    """The state of a node's GPUs.

    Attributes:
        devices: GPUs that the driver counts; without a driver those that it counted last.
        lost: Those of them that cannot be read: they fell off the bus or need a reset, or the
            driver is gone.
        uncorrected_errors: ECC errors of all of them that were not corrected, since the driver was
            loaded; None if none of them counts.
        pending_remaps: GPUs that replace bad memory at their next reset.
        failed_remaps: GPUs that could not replace bad memory: NVIDIA's reason to exchange them.
    """

    devices: Whole
    lost: Whole = 0
    uncorrected_errors: Whole | None = None
    pending_remaps: Whole = 0
    failed_remaps: Whole = 0


class PodReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent's report of one pod.

    Attributes:
        uid: The pod's.
        problem: What is wrong with its metrics annotation or files, in words; empty if nothing is.
    """

    uid: Annotated[Uid, Meta(min_length=1, max_length=253)]
    progress: Progress | None = None
    checkpoint: Checkpoint | None = None
    use: Use | None = None
    problem: Text = ""


class NodeReport(Struct, frozen=True, kw_only=True, tag=True):
    """Report of a node: its agent's heartbeats, merged.

    Attributes:
        node: The node.
        boot: Id of this run of the agent.
        sequence: Sequence number of the last heartbeat.
        sent_at: When the agent sent it, on its clock.
        received_at: When it was received, on our monotonic clock.
        complete: A full report of this run was received: nothing of the node is unknown.
        use: Of the whole node.
        cpu_cores: Cores of the node as the agent sees them (its budget where it has one).
        gpus: State of its GPUs; None if it has none.
        pods: By uid; only pods of ours.
        dropped: Events that the agent dropped since it started, because no replica took them.
    """

    node: NodeName
    boot: str
    sequence: int
    sent_at: float
    received_at: float
    complete: bool = False
    use: Use | None = None
    cpu_cores: float | None = None
    gpus: GpuHealth | None = None
    pods: Mapping[Uid, PodReport] = {}
    dropped: int = 0

    @property
    def key(self) -> str:
        """The node's name."""
        return self.node
