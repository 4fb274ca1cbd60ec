"""One change of workers with all that is decided from, and how it enters a phase or ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from extender.core.cluster.commands import EmitEvent
from extender.core.cluster.jobs import Job, Member
from extender.core.cluster.owner_changes import ChangeOwner, namespace_of
from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.cluster.worker_gang import worker_count
from extender.core.parameters.combined import CoreParameters
from extender.core.records import rescale as records_rescale
from extender.core.records.rescale import Cause, Phase, Rescale
from extender.core.records.rescale_reasons import ScalingReason
from extender.core.records.workers import NOBODY, Crew
from shared import labels
from shared.model import JobKey, Owner, OwnerReference, WorkerCount

HOLD_MARGIN_RATIO: Final = 0.1
"""The last part of a trainer's hold, in which no number is written: clocks of nodes differ."""
ACTION: Final = "Rescale"
"""Of the Events."""
_MOST_RECENT: Final = 100


@dataclass(frozen=True)
class Case:
    """One open change.

    Attributes:
        owner: Whose number it is, as it is now.
        rescale: What its annotation says.
        job: The job; None while it has no pods.
        crew: Its workers.
        beside: All changes that make room for the same start, this one included.
        unmarked: Those of them whose leaving pods lack a mark (``scaling.nominating``), by job.
        migrating: A pod of the job is on its way to another node.
    """

    snapshot: Snapshot
    reading: Reading
    params: CoreParameters
    owner: Owner
    rescale: Rescale
    job: Job | None
    crew: Crew
    beside: tuple[Rescale, ...]
    unmarked: frozenset[JobKey] = frozenset()
    migrating: bool = False

    @property
    def number(self) -> int | None:
        """How many workers the owner is told to have; None if it says none that may change."""
        return number(self.owner)


def number(owner: Owner) -> int | None:
    """Return how many workers an owner is told to have, 0 while it is suspended."""
    count = worker_count(owner)
    if count is None:
        return None
    return 0 if owner.suspended else count.count


def hold_limit(rescale: Rescale, params: CoreParameters) -> float:
    """Return until when a smaller number may be written."""
    return rescale.hold_until - HOLD_MARGIN_RATIO * params.rescaling.hold_seconds


def enter(
    owner: Owner,
    rescale: Rescale,
    phase: Phase,
    now: float,
    crew: Crew = NOBODY,
    event: EmitEvent | None = None,
) -> ChangeOwner:
    """Go on to a phase: the number that it is about and the word about it, in one write."""
    entered = replace(rescale, phase=phase, since=now)
    count = None if _is_suspended_for(owner, entered) else worker_count(owner)
    return ChangeOwner(
        owner,
        namespace_of(rescale.job, owner),
        why=f"{phase.value} {_numbers(entered)}, {entered.cause.value}",
        fields=count.values(entered.to) if count else (),
        guards=count.guards if count else (),
        leaving=_named(count, crew.surplus(entered.to)) if count else (),
        suspend=_suspend(owner, entered),
        annotations=_said(entered),
        event=event,
    )


def note(owner: Owner, rescale: Rescale, event: EmitEvent | None = None) -> ChangeOwner:
    """Write the word about a change, and no number."""
    why = f"{rescale.phase.value} {_numbers(rescale)} {rescale.why}".rstrip()
    namespace = namespace_of(rescale.job, owner)
    return ChangeOwner(owner, namespace, why=why, annotations=_said(rescale), event=event)


def done(case: Case, why: ScalingReason | None = None) -> ChangeOwner:
    """Close a change that was made; ``why`` says what was not reached."""
    ended = _ended(case, Phase.DONE, why)
    aborted = ended.aborted if ended.cause is Cause.WITHDRAWN else 0
    text = f"{_numbers(ended)} workers ({ended.cause.value})"
    told = _event(case.owner, "Rescaled", text if why is None else f"{text}: {why.text}")
    return note(case.owner, replace(ended, aborted=aborted), told)


def abort(case: Case, why: ScalingReason) -> ChangeOwner:
    """Give a change up; it rests longer with each one in a row."""
    ended = _ended(case, Phase.ABORTED, why)
    aborted = ended.aborted + (why.rests_longer)
    told = _event(case.owner, "RescaleAborted", f"{_numbers(ended)} workers: {why.text}")
    return note(case.owner, replace(ended, aborted=aborted), told)


def begun(owner: Owner, rescale: Rescale) -> EmitEvent:
    """Return what people are told when a change begins."""
    reason = f"{_numbers(rescale)} workers ({rescale.cause.value})"
    text = reason if rescale.starts is None else f"{reason}, room for {rescale.starts}"
    return _event(owner, "Rescaling", text)


def name(owner: Owner, before: int, to: int, now: float) -> str:
    """Return the name of a change: also of a checkpoint request, so of its letters alone."""
    return f"{owner.name[:48]}-{before}-{to}-{int(now * 1000):x}"


def recent(rescale: Rescale | None, now: float) -> tuple[float, ...]:
    """Return when changes of the job were begun in the last hour."""
    before = () if rescale is None else rescale.recent
    return tuple(at for at in before if now - at < 3600.0)[-_MOST_RECENT:]  # noqa: PLR2004 - an hour


def _ended(case: Case, phase: Phase, why: ScalingReason | None) -> Rescale:
    text = "" if why is None else why.value
    return replace(case.rescale, phase=phase, since=case.reading.now, why=text)


def _is_suspended_for(owner: Owner, rescale: Rescale) -> bool:
    """A pause leaves the number alone where the owner can be suspended."""
    return rescale.to == 0 and bool(owner.suspend_field)


def _named(
    count: WorkerCount, leaving: Sequence[Member]
) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    if not count.leaving or not leaving:
        return ()
    return ((count.leaving, count.leaving_key, tuple(member.pod.name for member in leaving)),)


def _suspend(owner: Owner, rescale: Rescale) -> bool | None:
    if not owner.suspend_field:
        return None
    suspended = rescale.to == 0
    return suspended if suspended != owner.suspended else None


def _said(rescale: Rescale) -> Mapping[str, str | None]:
    return {labels.RESCALE: records_rescale.text(rescale)}


def _numbers(rescale: Rescale) -> str:
    return f"{rescale.before} to {rescale.to}"


def _event(owner: Owner, reason: str, text: str) -> EmitEvent:
    about = OwnerReference(owner.api_version, owner.kind, owner.name, owner.uid)
    return EmitEvent(owner.namespace, about, reason, text, action=ACTION)
