"""The writes of a parking: its record on the owner, with the suspension or its end, and the Event.

Record and suspension are one write with the owner's version as its precondition: a lost answer, a
crash or a restart repeats nothing.
"""

from typing import Final

from msgspec.structs import replace

from extender.core.cluster.commands import ChangeOwner, EmitEvent, namespace_of
from extender.core.kinds import registry
from extender.core.records import parking as records
from extender.core.records.parked_jobs import with_places
from extender.core.records.parking import Cause, OwnedParking, Parking, Phase
from shared import labels
from shared.model import NodeName, Owner, OwnerReference, Uid

ACTION: Final = "Park"
"""Of the Events."""


def write(
    owner: Owner, parking: Parking, *, pause: bool | None = None, event: EmitEvent | None = None
) -> ChangeOwner:
    """Write the record, and whether the owner is paused unless that is None.

    An owner that cannot be suspended gets numbers of 0, and those of the record at its return.
    """
    why = f"parking {parking.phase.value} ({parking.cause.value}) {parking.why}".rstrip()
    numbers = _numbers(owner, parking, pause=pause)
    notes: dict[str, str | None] = {labels.PARKING: records.text(parking)}
    if parking.cause is Cause.MOVE and labels.MOVE in owner.annotations:
        notes[labels.MOVE] = None  # it is under way
    return ChangeOwner(
        owner,
        namespace_of(parking.job, owner),
        why,
        fields=numbers,
        guards=owner.pause.guards if numbers and owner.pause is not None else (),
        suspend=pause if owner.suspend_field else None,
        annotations=notes,
        event=event,
    )


def _numbers(owner: Owner, parking: Parking, *, pause: bool | None) -> tuple[tuple[str, int], ...]:
    if owner.suspend_field or pause is None:
        return ()
    return tuple((field, 0 if pause else number) for field, number in parking.numbers)


def entered(parking: Parking, phase: Phase, now: float) -> Parking:
    """Return the parking in its next phase; ``now`` is in seconds since the epoch."""
    return replace(parking, phase=phase, since=now)


def keep_places(owned: OwnedParking, nodes: dict[Uid, NodeName], now: float) -> ChangeOwner:
    """Keep the places that a plan found; the suspension ends once they are seen to be kept.

    Args:
        owned: A parked job.
        nodes: Where the pods go that ``parked_jobs.with_parked`` made.
        now: Seconds since the epoch.
    """
    parking = with_places(owned.parking, nodes, owned.owner.uid)
    return write(owned.owner, entered(parking, Phase.RESUMING, now))


def warned(owner: Owner, text: str) -> str:
    """Return the text of an Event with what parking loses for that kind of owner."""
    facts = registry.parking_facts(owner)
    return text if facts is None or not facts.warning else f"{text}; {facts.warning}"


def event(owner: Owner, reason: str, text: str, *, warning: bool = False) -> EmitEvent:
    """Return an Event on the owner."""
    about = OwnerReference(owner.api_version, owner.kind, owner.name, owner.uid)
    return EmitEvent(owner.namespace, about, reason, text, warning, action=ACTION)
