"""Why a job waits, told to people: a condition on its gated pods, one Event per change."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from extender.engine.commands import Command, EmitEvent, SetQueuedCondition
from extender.engine.jobs import Job, State
from extender.engine.reasons import Reason
from extender.policy.priority import Value
from extender.policy.weighting import Weight
from shared.model import JobKey

IGNORED = "AnnotationIgnored"
"""Event reason: an annotation cannot be used, and its default counts."""

READING: Final = "ReadAnnotations"
"""Action of that Event: the reason for waiting does not take its place in the line."""

YOUNG_SECONDS: Final = 3.0
"""A job that waits no longer than this is not told why, unless somebody must correct it.

Nor one of which a pod came so short a time ago: thousands are not created in three seconds.
"""

GROWING_SECONDS: Final = 60.0
"""After this time from its first pod a job is told why it waits even if pods still come."""

_WARNINGS = frozenset(
    {
        Reason.MISCONFIGURED,
        Reason.GANG_SIZE_UNKNOWN,
        Reason.EXCEEDS_MAX_QUOTA,
        Reason.NO_SUCH_NODE,
    }
)


@dataclass(frozen=True)
class QueueEntry:
    """A job in the queue: its value, and why it waits (or that it is on its way).

    ``note`` names an annotation that could not be used, but keeps the job from nothing; ``weight``
    is the key under the order ``weighting``, None under every other.
    """

    job: Job
    value: Value
    reason: Reason
    message: str
    note: str = ""
    weight: Weight | None = None


def tell(
    entries: Iterable[QueueEntry], told: Mapping[JobKey, str], now_seconds: float
) -> tuple[dict[JobKey, str], tuple[Command, ...]]:
    """Return what is told now and the commands that tell what changed.

    Every condition is a write for each pod of a gang. It is patched only where the token differs
    from the one on the pod, and not while the job's pods are still being made.

    Args:
        entries: The queue.
        told: What was told about each job before.
        now_seconds: Seconds since the epoch.
    """
    now: dict[JobKey, str] = {}
    commands: list[Command] = []
    for entry in entries:
        job, before = entry.job, told.get(entry.job.key, "")
        now[job.key] = f"{entry.reason} {entry.note}"
        if entry.note and not before.endswith(entry.note):
            ignored = _event(job, IGNORED, entry.note, warning=True)
            commands.append(replace(ignored, action=READING))
        if entry.reason is Reason.RELEASING:
            continue
        if _is_young(job, now_seconds) and entry.reason not in _WARNINGS:
            now[job.key] = f"{before.partition(' ')[0]} {entry.note}"
            continue
        commands.extend(_conditions(entry))
        if before.partition(" ")[0] != entry.reason:
            warning = entry.reason in _WARNINGS
            commands.append(_event(job, entry.reason, entry.message, warning=warning))
    return now, tuple(commands)


def _is_young(job: Job, now_seconds: float) -> bool:
    if now_seconds - job.created_at < YOUNG_SECONDS:
        return True
    first, last = job.members[0].pod.created_at, job.members[-1].pod.created_at
    return now_seconds - last < YOUNG_SECONDS and now_seconds - first < GROWING_SECONDS


def _conditions(entry: QueueEntry) -> Iterator[Command]:
    for member in entry.job.having(State.GATED, State.HELD):
        if member.pod.queued_reason != entry.reason:
            pod = member.pod
            yield SetQueuedCondition(pod.key, pod.uid, entry.reason, entry.message)


def _event(job: Job, reason: str, message: str, *, warning: bool) -> EmitEvent:
    return EmitEvent(job.namespace, job.about, reason, message, warning)
