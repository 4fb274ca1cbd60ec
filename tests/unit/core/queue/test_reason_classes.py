"""Every reason is classified on purpose: the rows repeat what its record says (defect B4).

The type check finds a record that lacks a field. The rows find a field with the wrong value: one
reason a row, so that a change of one is a change of both.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

import msgspec
import pytest

from extender.core.cluster.reason_record import Limit, Room, Severity
from extender.core.cluster.reasons import Reason


class Is(StrEnum):
    """A class of reasons."""

    TIME_HELPS = "the job may lose it when other jobs end"
    KEPT = "room is kept for the job"
    NEEDS_NO_ROOM = "a new direct gang that starts does not overtake the job"
    LACKS_ROOM = "the job would start if elastic jobs had fewer workers"
    NODES_HELP = "nodes that an autoscaler adds may help"
    NEEDS_ACTION = "a person must correct it: it is reported at once"
    WARNING = "its Events are warnings"
    BY_PRICE = "the price decides"
    BY_QUOTA = "the limit of the namespace decides"


CLASSES: Final[Mapping[Is, Callable[[Reason], bool]]] = {
    Is.TIME_HELPS: lambda reason: reason.time_helps,
    Is.KEPT: lambda reason: reason.room is Room.KEPT,
    Is.NEEDS_NO_ROOM: lambda reason: not reason.waits_for_room,
    Is.LACKS_ROOM: lambda reason: reason.lacks_room,
    Is.NODES_HELP: lambda reason: reason.nodes_help,
    Is.NEEDS_ACTION: lambda reason: reason.needs_action,
    Is.WARNING: lambda reason: reason.severity is Severity.WARNING,
    Is.BY_PRICE: lambda reason: reason.limit is Limit.PRICE,
    Is.BY_QUOTA: lambda reason: reason.limit is Limit.QUOTA,
}

ROWS: dict[Reason, set[Is]] = {
    Reason.MISCONFIGURED: {Is.NEEDS_NO_ROOM, Is.WARNING, Is.NEEDS_ACTION},
    Reason.GANG_SIZE_UNKNOWN: {Is.NEEDS_NO_ROOM, Is.WARNING, Is.NEEDS_ACTION},
    Reason.GANG_INCOMPLETE: {Is.NEEDS_NO_ROOM},
    Reason.ADMISSION_GATED: {Is.NEEDS_NO_ROOM},
    Reason.BACKING_OFF: {Is.NEEDS_NO_ROOM},
    Reason.WAITING_FOR_QUOTA: {Is.TIME_HELPS, Is.NEEDS_NO_ROOM, Is.BY_QUOTA},
    Reason.EXCEEDS_MAX_QUOTA: {Is.NEEDS_NO_ROOM, Is.WARNING, Is.NEEDS_ACTION, Is.BY_QUOTA},
    Reason.NO_SUCH_NODE: {Is.NEEDS_NO_ROOM, Is.NODES_HELP, Is.WARNING, Is.NEEDS_ACTION},
    Reason.GANG_DOES_NOT_FIT: {Is.TIME_HELPS, Is.LACKS_ROOM, Is.NODES_HELP},
    Reason.FRAGMENTED: {Is.TIME_HELPS, Is.LACKS_ROOM, Is.NODES_HELP},
    Reason.TOPOLOGY_PLACEMENT_FAILED: {Is.TIME_HELPS, Is.LACKS_ROOM, Is.NODES_HELP},
    Reason.NO_SUCH_TOPOLOGY_LEVEL: {Is.NEEDS_NO_ROOM, Is.NODES_HELP, Is.WARNING, Is.NEEDS_ACTION},
    Reason.SHARED_DEVICES_ONLY: {Is.NEEDS_NO_ROOM, Is.NODES_HELP, Is.WARNING, Is.NEEDS_ACTION},
    Reason.GANG_TOO_LARGE: {Is.TIME_HELPS, Is.NEEDS_NO_ROOM, Is.NODES_HELP},
    Reason.MAX_WAIT_DRAINING: {Is.TIME_HELPS, Is.KEPT, Is.LACKS_ROOM},
    Reason.AWAITING_ROOM: {Is.TIME_HELPS, Is.KEPT, Is.LACKS_ROOM},
    Reason.BEHIND_RESERVATION: {Is.TIME_HELPS},
    Reason.PAYOFF_TOO_LOW: {Is.NEEDS_NO_ROOM, Is.BY_PRICE},
    Reason.AWAITING_PRICE: {Is.NEEDS_NO_ROOM},
    Reason.PROFILING: {Is.NEEDS_NO_ROOM},
    Reason.PROFILE_INCONCLUSIVE: {Is.NEEDS_NO_ROOM, Is.WARNING},
    Reason.AWAITING_SLOT: {Is.NEEDS_NO_ROOM},
    Reason.UTILITY_GONE: {Is.NEEDS_NO_ROOM, Is.BY_PRICE},
    Reason.RELEASING: {Is.NEEDS_NO_ROOM},
    Reason.MIGRATING: {Is.NEEDS_NO_ROOM},
    Reason.REPLACING: {Is.NEEDS_NO_ROOM},
    Reason.NODE_NOT_FENCED: {Is.NEEDS_NO_ROOM, Is.WARNING, Is.NEEDS_ACTION},
}


def test_every_reason_has_its_row() -> None:
    assert set(ROWS) == set(Reason)


@pytest.mark.parametrize("what", Is)
def test_the_reasons_of_each_class_are_those_of_the_rows(what: Is) -> None:
    is_of = CLASSES[what]
    assert {r for r in Reason if is_of(r)} == {r for r, row in ROWS.items() if what in row}


def test_time_does_not_help_where_a_person_must_act() -> None:
    assert [r for r in Reason if r.needs_action and r.time_helps] == []


def test_room_is_kept_for_no_job_that_its_quota_refuses() -> None:
    may = {r for r in Reason if r.may_reserve}
    assert may == {r for r in Reason if r.time_helps} - {Reason.WAITING_FOR_QUOTA}


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_is_its_token_wherever_it_is_written(reason: Reason) -> None:
    encoded = msgspec.json.encode(reason)
    assert encoded == f'"{reason.value}"'.encode()
    assert msgspec.json.decode(encoded, type=Reason) is reason
    assert f"{reason}" == reason.value
    assert Reason.named(reason.value) is reason


def test_an_unknown_token_is_no_reason() -> None:
    assert Reason.named("") is None
