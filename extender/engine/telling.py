"""Why a job waits, told to people: a condition on its gated pods, one Event per change."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from extender.engine.commands import Command, EmitEvent, SetQueuedCondition
from extender.engine.jobs import Job, State
from extender.engine.reasons import Reason
from extender.policy.priority import Value
from shared.model import JobKey

IGNORED = "AnnotationIgnored"
"""Event reason: an annotation cannot be used, and its default counts."""

_WARNINGS = frozenset(
    {Reason.MISCONFIGURED, Reason.GANG_SIZE_UNKNOWN, Reason.NO_SUCH_NODE, Reason.GATE_REQUIRED}
)


@dataclass(frozen=True)
class QueueEntry:
    """A job in the queue: its value, and why it waits (or that it is on its way).

    ``note`` names an annotation that could not be used, but keeps the job from nothing.
    """

    job: Job
    value: Value
    reason: Reason
    message: str
    note: str = ""


def tell(
    entries: Iterable[QueueEntry], told: Mapping[JobKey, str]
) -> tuple[dict[JobKey, str], tuple[Command, ...]]:
    """Return what is told now and the commands that tell what changed.

    Conditions are patched only where the token differs from the one on the pod, because every
    status patch is a write for each pod of a gang.
    """
    now: dict[JobKey, str] = {}
    commands: list[Command] = []
    for entry in entries:
        job, before = entry.job, told.get(entry.job.key, "")
        now[job.key] = f"{entry.reason} {entry.note}"
        if entry.note and not before.endswith(entry.note):
            commands.append(_event(job, IGNORED, entry.note, warning=True))
        if entry.reason is Reason.RELEASING:
            continue
        commands.extend(_conditions(entry))
        if before.partition(" ")[0] != entry.reason:
            warning = entry.reason in _WARNINGS
            commands.append(_event(job, entry.reason, entry.message, warning=warning))
    return now, tuple(commands)


def _conditions(entry: QueueEntry) -> Iterator[Command]:
    for member in entry.job.having(State.GATED, State.HELD):
        if member.pod.queued_reason != entry.reason:
            pod = member.pod
            yield SetQueuedCondition(pod.key, pod.uid, entry.reason, entry.message)


def _event(job: Job, reason: str, message: str, *, warning: bool) -> EmitEvent:
    return EmitEvent(job.namespace, job.about, reason, message, warning)
