"""Which training faults follow from what agents report of the members of one job (pure).

Source: ours (docs/policies/fault_detection.md).
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from statistics import median
from typing import Final

from msgspec import Struct

from extender.core.parameters.training_faults import DetectionParameters
from shared.model import NodeName, Uid

UNSAMPLED_RATIO: Final = 3.0
"""The silence must be so many times as long where the use of no member is sampled."""
IDLE_SHARE: Final = 0.5
"""Of the silence, for which an idle member must have idled at least."""
SLACK_SECONDS: Final = 60.0
"""A member may begin to idle so long before the last value was read: samples and readings are
seconds apart, and a program may wait for its turn. One that has idled for longer did so while the
job made progress."""
LEAST_ADVANCES: Final = 10
"""Usual pauses over which steps are compared at least: values that come in bursts hide the last
burst."""
RECOVERED_SHARE: Final = 0.8
"""Of ``straggler_ratio``, below which a member that straggled no longer does."""


class FaultKind(StrEnum):
    """A closed vocabulary: the same word in the read API, in metrics and on the page."""

    HUNG = "Hung"
    """No member makes progress."""
    STRAGGLER = "Straggler"
    """One member makes fewer steps than the others."""
    DIVERGED = "Diverged"
    """The metric is NaN or infinite."""


class Observed(Struct, frozen=True, kw_only=True):
    """What the agent of a member reported last.

    Attributes:
        uid: Of the pod.
        pod: Its name.
        node: Where it runs.
        role: Its role in the job.
        step: Last step; None if unknown.
        attempt: 1, one more after each restart of the training in the pod.
        moved_at: When its last new value came, on its agent's clock; None if it reports none.
        silent_seconds: How long that is ago by the same clock.
        gaps: Pauses between its values that were measured.
        usual_seconds: The usual one.
        longest_seconds: The longest one.
        idle_seconds: See ``shared.progress.Use``.
        bad_values: Values in a row that are NaN or infinite.
        bad_since_step: Step of the first of them.
        metric: Name of the metric.
    """

    uid: Uid
    pod: str
    node: NodeName
    role: str = ""
    step: int | None = None
    attempt: int = 1
    moved_at: float | None = None
    silent_seconds: float | None = None
    gaps: int = 0
    usual_seconds: float = 0.0
    longest_seconds: float = 0.0
    idle_seconds: float | None = None
    bad_values: int = 0
    bad_since_step: int | None = None
    metric: str = ""


class Finding(Struct, frozen=True):
    """A fault: what it is, the member that shows it, and the figures in words."""

    kind: FaultKind
    uid: Uid
    pod: str
    node: NodeName
    message: str


def silence_limit(observed: Observed, params: DetectionParameters) -> float | None:
    """Return how long the silence of a member must be, seconds; None while its pace is unknown."""
    if observed.silent_seconds is None or observed.gaps < params.least_gaps:
        return None
    return max(
        params.least_silence_seconds,
        params.silence_ratio * observed.usual_seconds,
        params.pause_ratio * observed.longest_seconds,
    )


def hung(members: Sequence[Observed], params: DetectionParameters) -> Finding | None:
    """Return that a job hangs; None if it does not, or if that cannot be known.

    It hangs if all members with values have been silent beyond every known limit, and a member
    idles since. The member that has idled longest is named: the others may wait for it.

    Args:
        members: All members of the job that run.
        params: See there.
    """
    talking = [member for member in members if member.silent_seconds is not None]
    limits = [limit for m in talking if (limit := silence_limit(m, params)) is not None]
    if not limits:
        return None
    silence = min(m.silent_seconds or 0.0 for m in talking)
    limit = max(limits)
    sampled = any(member.idle_seconds is not None for member in members)
    if silence < (limit if sampled else UNSAMPLED_RATIO * limit):
        return None
    idle = [member for member in members if _idled(member, silence)]
    if sampled and not idle:
        return None
    suspect = max(idle or talking, key=_suspicion)
    usual = max(m.usual_seconds for m in talking)
    longest = max(m.longest_seconds for m in talking)
    evidence = (
        f"has idled for {shown(suspect.idle_seconds or 0.0)}"
        if idle
        else "is silent too (its use is not sampled)"
    )
    return Finding(
        FaultKind.HUNG,
        suspect.uid,
        suspect.pod,
        suspect.node,
        f"no progress for {shown(silence)} (usually every {shown(usual)}, longest pause "
        f"{shown(longest)}), and pod {suspect.pod} on node {suspect.node} {evidence}",
    )


def _idled(member: Observed, silence: float) -> bool:
    """Return True if a member idles since about the last value."""
    idle = member.idle_seconds or 0.0
    slack = max(SLACK_SECONDS, member.usual_seconds)
    return IDLE_SHARE * silence <= idle <= silence + slack and idle > 0


def _suspicion(member: Observed) -> tuple[float, str]:
    return (member.idle_seconds or 0.0, member.pod)


def diverged(members: Sequence[Observed], params: DetectionParameters) -> Finding | None:
    """Return that a job has diverged, by its first member whose values say so; None otherwise."""
    for member in members:
        if member.bad_values >= params.bad_values:
            since = "" if member.bad_since_step is None else f" since step {member.bad_since_step}"
            return Finding(
                FaultKind.DIVERGED,
                member.uid,
                member.pod,
                member.node,
                f"{member.metric} is NaN or infinite{since}, {member.bad_values} values in a row, "
                f"in pod {member.pod} on node {member.node}",
            )
    return None


class Window(Struct, frozen=True):
    """The steps of a job's members when their comparison began.

    Attributes:
        since: Monotonic seconds.
        steps: Attempt and step of each pod.
    """

    since: float
    steps: Mapping[Uid, tuple[int, int]]


def window(members: Sequence[Observed], now: float) -> Window:
    """Return a comparison that begins ``now``, monotonic seconds."""
    steps = {m.uid: (m.attempt, m.step) for m in members if m.step is not None}
    return Window(now, steps)


def window_seconds(members: Sequence[Observed], params: DetectionParameters) -> float:
    """Return over how long the steps of these members are compared."""
    usual = max((m.usual_seconds for m in members), default=0.0)
    return max(params.straggler_seconds, LEAST_ADVANCES * usual)


def straggler(
    begun: Window, members: Sequence[Observed], params: DetectionParameters, *, before: Uid | None
) -> Finding | None:
    """Return the slowest member, if the others of its role make many times its steps.

    Args:
        begun: The comparison, which is over now.
        members: All members of the job that run.
        params: See there.
        before: The member that straggled until now; it counts as slow a little longer.
    """
    advances: dict[str, list[tuple[int, Observed]]] = {}
    for member in members:
        attempt, step = begun.steps.get(member.uid, (0, 0))
        if member.step is not None and attempt == member.attempt and member.step >= step:
            advances.setdefault(member.role, []).append((member.step - step, member))
    slow = [found for rows in advances.values() if (found := _slowest(rows, params, before))]
    return max(slow, key=lambda pair: pair[0])[1] if slow else None


def _slowest(
    rows: Sequence[tuple[int, Observed]], params: DetectionParameters, before: Uid | None
) -> tuple[float, Finding] | None:
    """Return by which factor the slowest of a role is behind the others, and the finding."""
    advance, member = min(rows, key=lambda row: (row[0], row[1].pod))
    others = [steps for steps, other in rows if other.uid != member.uid]
    usual = median(others) if others else 0.0
    share = RECOVERED_SHARE if member.uid == before else 1.0
    if usual <= 0 or usual < share * params.straggler_ratio * advance:
        return None
    behind = usual / max(advance, 1)
    message = (
        f"pod {member.pod} on node {member.node} made {advance} steps while the others made "
        f"{usual:g}"
    )
    return behind, Finding(FaultKind.STRAGGLER, member.uid, member.pod, member.node, message)


def shown(seconds: float) -> str:
    """Return a duration in words: ``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 100:  # noqa: PLR2004 - what reads best
        return f"{seconds:.0f} s"
    if seconds < 6000:  # noqa: PLR2004
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
