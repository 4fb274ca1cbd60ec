"""Why a job waits: a condition on its gated pods; Events on its owner and its waiting pods."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from extender.core.cluster.commands import Command, EmitEvent, SetQueuedCondition
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.reason_record import Severity
from extender.core.cluster.reasons import Reason
from extender.core.queue.contenders import Standing
from extender.core.queue.order import Value
from extender.core.queue.state import Notice
from extender.core.queue.weighting import Weight
from shared import labels
from shared.model import JobKey, OwnerReference

IGNORED = "AnnotationIgnored"
"""Event reason: an annotation cannot be used, and its default counts."""

READING: Final = "ReadAnnotations"
"""Action of that Event: the reason for waiting does not take its place in the line."""

YOUNG_SECONDS: Final = 3.0
"""A job that waits no longer than this gets no Event, unless a user must correct it.

Nor a job with a pod younger than this: thousands are not created in three seconds.
"""

REPEAT_SECONDS: Final = 2700.0
"""After this time the Events of a job that still waits are written again.

The API server deletes Events after an hour (``--event-ttl``), and `kubectl describe` of a pod that
waits longer must still show why. No pass is woken for it: one comes every few seconds anyway.
"""

MOST_POD_EVENTS: Final = 64
"""Pods of a job that get an Event of their own when the reason changes.

Each is a write. All gated pods have the condition; of a larger gang the owner has the Event too.
"""

GROWING_SECONDS: Final = 60.0
"""After this time from its first pod a job gets its Events even if pods still come."""


@dataclass(frozen=True)
class QueueEntry:
    """A job in the queue: its value, and why it waits (or that it is on its way).

    ``note`` names an annotation that could not be used, but keeps the job from nothing; ``weight``
    is the key under the order ``weighting``, ``standing`` the place under the order ``service``,
    each None under every other.
    """

    job: Job
    value: Value
    reason: Reason
    message: str
    note: str = ""
    weight: Weight | None = None
    standing: Standing | None = None


def notify(
    entries: Iterable[QueueEntry], last: Mapping[JobKey, Notice], now_seconds: float
) -> tuple[dict[JobKey, Notice], tuple[Command, ...]]:
    """Return the last Events about each job, and the commands that write what changed.

    Every condition is a write for each pod of a gang. It is patched only where the token differs
    from the one on the pod, and not while the job's pods are still being made.

    Args:
        entries: The queue.
        last: The last Events about each job.
        now_seconds: Seconds since the epoch.
    """
    now: dict[JobKey, Notice] = {}
    commands: list[Command] = []
    for entry in entries:
        before = last.get(entry.job.key, Notice())
        now[entry.job.key], notices = _notify_job(entry, before, now_seconds)
        commands.extend(notices)
    return now, tuple(commands)


def _notify_job(entry: QueueEntry, before: Notice, now: float) -> tuple[Notice, list[Command]]:
    job, commands = entry.job, list[Command]()
    if entry.note and before.note != entry.note:
        ignored = _event(job, IGNORED, entry.note, warning=True)
        commands.append(replace(ignored, action=READING))
    if entry.reason is Reason.RELEASING:
        return Notice(entry.reason, entry.note, now), commands
    if _is_young(job, now) and not entry.reason.needs_action:
        return replace(before, note=entry.note), commands
    commands.extend(_conditions(entry))
    changed = before.reason != entry.reason
    if not changed and now - before.at < REPEAT_SECONDS:
        return replace(before, note=entry.note), commands
    warning = entry.reason.severity is Severity.WARNING
    commands.append(_event(job, entry.reason, entry.message, warning=warning))
    commands.extend(_pod_events(entry, first=not before.reason, warning=warning))
    return Notice(entry.reason, entry.note, now), commands


def _is_young(job: Job, now_seconds: float) -> bool:
    if now_seconds - job.created_at < YOUNG_SECONDS:
        return True
    first, last = job.members[0].pod.created_at, job.members[-1].pod.created_at
    return now_seconds - last < YOUNG_SECONDS and now_seconds - first < GROWING_SECONDS


def _conditions(entry: QueueEntry) -> Iterator[Command]:
    for member in entry.job.having(State.GATED, State.HELD):
        pod = member.pod
        if labels.GATE in pod.gates and pod.queued_reason != entry.reason:
            yield SetQueuedCondition(pod.key, pod.uid, entry.reason, entry.message)


def _pod_events(entry: QueueEntry, *, first: bool, warning: bool) -> Iterator[Command]:
    """Yield an Event for each waiting pod, where `kubectl describe pod` shows it.

    Args:
        entry: The job.
        first: It had no Event before: the extender has just started, or the job is new. A pod
            whose condition has the same reason had its Event.
        warning: As for the job.
    """
    waiting = entry.job.having(State.GATED, State.HELD, State.DIRECT)
    for member in waiting[:MOST_POD_EVENTS]:
        pod = member.pod
        had_its_event = first and pod.queued_reason == entry.reason
        if pod.uid != entry.job.about.uid and not had_its_event:
            about = OwnerReference("v1", "Pod", pod.name, pod.uid)
            yield EmitEvent(pod.namespace, about, entry.reason, entry.message, warning)


def _event(job: Job, reason: str, message: str, *, warning: bool) -> EmitEvent:
    return EmitEvent(job.namespace, job.about, reason, message, warning)
