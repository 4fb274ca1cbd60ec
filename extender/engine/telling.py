"""Why a job waits, told to people: a condition on its gated pods, one Event per change."""

from collections.abc import Iterable, Mapping

from extender.engine.commands import Command, EmitEvent, SetQueuedCondition
from extender.engine.jobs import Job, State
from extender.engine.reasons import Reason
from shared.model import JobKey

_WARNINGS = frozenset(
    {Reason.MISCONFIGURED, Reason.GANG_SIZE_UNKNOWN, Reason.NO_SUCH_NODE, Reason.GATE_REQUIRED}
)


def tell(
    entries: Iterable[tuple[Job, Reason, str]], told: Mapping[JobKey, str]
) -> tuple[dict[JobKey, str], tuple[Command, ...]]:
    """Return what is told now and the commands that tell what changed.

    Conditions are patched only where the token differs from the one on the pod, because every
    status patch is a write for each pod of a gang.
    """
    now: dict[JobKey, str] = {}
    commands: list[Command] = []
    for job, reason, message in entries:
        now[job.key] = reason
        if reason is Reason.RELEASING:
            continue
        commands.extend(
            SetQueuedCondition(m.pod.key, m.pod.uid, reason, message)
            for m in job.having(State.GATED, State.HELD)
            if m.pod.queued_reason != reason
        )
        if told.get(job.key) != reason:
            warning = reason in _WARNINGS
            commands.append(EmitEvent(job.namespace, job.about, reason, message, warning))
    return now, tuple(commands)
