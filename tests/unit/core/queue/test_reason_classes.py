"""Every reason is classified on purpose: a new one fails here until its row is written.

Several modules keep sets of reasons. Here is once more what a reason is in each of them, one row a
reason, so that none is forgotten in one of them (defect B4).
"""

from enum import StrEnum

import pytest

from extender.core.cluster.reasons import NEEDS_ACTION, Reason
from extender.core.elastic import inputs
from extender.core.explain import pricing, quota
from extender.core.queue import scheduling_pass, unplaceable
from extender.core.scheduler import direct_gangs


class Is(StrEnum):
    """What a reason may be."""

    TIME_HELPS = "others' ending may rid a job of it"
    HOLDER = "room is kept for the job"
    NEEDS_NO_ROOM = "a new direct gang overtakes nobody by starting"
    LACKS_ROOM = "the job would start if elastic jobs had fewer workers"
    FOR_NODES = "nodes that an autoscaler adds may help"
    WARNING = "somebody must correct it: told at once, as a warning"
    BY_PRICE = "the price decides"
    BY_QUOTA = "the limit of the namespace decides"


KEPT = {
    Is.TIME_HELPS: scheduling_pass.TIME_HELPS,
    Is.HOLDER: scheduling_pass._HOLDERS,
    Is.NEEDS_NO_ROOM: direct_gangs._NEEDS_NO_ROOM,
    Is.LACKS_ROOM: inputs.LACKS_ROOM,
    Is.FOR_NODES: unplaceable._FOR_NODES,
    Is.WARNING: NEEDS_ACTION,
    Is.BY_PRICE: {Reason(text) for text in pricing._BY_PRICE},
    Is.BY_QUOTA: quota._REASONS,
}

ROWS: dict[Reason, set[Is]] = {
    Reason.MISCONFIGURED: {Is.NEEDS_NO_ROOM, Is.WARNING},
    Reason.GANG_SIZE_UNKNOWN: {Is.NEEDS_NO_ROOM, Is.WARNING},
    Reason.GANG_INCOMPLETE: {Is.NEEDS_NO_ROOM},
    Reason.ADMISSION_GATED: {Is.NEEDS_NO_ROOM},
    Reason.BACKING_OFF: {Is.NEEDS_NO_ROOM},
    Reason.WAITING_FOR_QUOTA: {Is.TIME_HELPS, Is.NEEDS_NO_ROOM, Is.BY_QUOTA},
    Reason.EXCEEDS_MAX_QUOTA: {Is.NEEDS_NO_ROOM, Is.WARNING, Is.BY_QUOTA},
    Reason.NO_SUCH_NODE: {Is.NEEDS_NO_ROOM, Is.FOR_NODES, Is.WARNING},
    Reason.GANG_DOES_NOT_FIT: {Is.TIME_HELPS, Is.LACKS_ROOM, Is.FOR_NODES},
    Reason.FRAGMENTED: {Is.TIME_HELPS, Is.LACKS_ROOM, Is.FOR_NODES},
    Reason.TOPOLOGY_PLACEMENT_FAILED: {Is.TIME_HELPS, Is.LACKS_ROOM, Is.FOR_NODES},
    Reason.NO_SUCH_TOPOLOGY_LEVEL: {Is.NEEDS_NO_ROOM, Is.FOR_NODES, Is.WARNING},
    Reason.GANG_TOO_LARGE: {Is.TIME_HELPS, Is.NEEDS_NO_ROOM, Is.FOR_NODES},
    Reason.MAX_WAIT_DRAINING: {Is.TIME_HELPS, Is.HOLDER, Is.LACKS_ROOM},
    Reason.AWAITING_ROOM: {Is.TIME_HELPS, Is.HOLDER, Is.LACKS_ROOM},
    Reason.BEHIND_RESERVATION: {Is.TIME_HELPS},
    Reason.PAYOFF_TOO_LOW: {Is.NEEDS_NO_ROOM, Is.BY_PRICE},
    Reason.AWAITING_PRICE: {Is.NEEDS_NO_ROOM},
    Reason.PROFILING: {Is.NEEDS_NO_ROOM},
    Reason.PROFILE_INCONCLUSIVE: {Is.NEEDS_NO_ROOM},
    Reason.AWAITING_SLOT: {Is.NEEDS_NO_ROOM},
    Reason.UTILITY_GONE: {Is.NEEDS_NO_ROOM, Is.BY_PRICE},
    Reason.RELEASING: {Is.NEEDS_NO_ROOM},
    Reason.MIGRATING: {Is.NEEDS_NO_ROOM},
    Reason.REPLACING: {Is.NEEDS_NO_ROOM},
}


def test_every_reason_has_its_row() -> None:
    assert set(ROWS) == set(Reason)


@pytest.mark.parametrize("what", Is)
def test_the_reasons_of_each_kind_are_those_of_the_rows(what: Is) -> None:
    assert set(KEPT[what]) == {reason for reason, row in ROWS.items() if what in row}


def test_who_must_correct_something_is_not_helped_by_time() -> None:
    assert [r for r, row in ROWS.items() if {Is.WARNING, Is.TIME_HELPS} <= row] == []
