"""The state of the decision: parkings under way, and those that ended."""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from extender.core.records.drain_budget_reasons import NoBudget
from extender.core.records.parking import OwnedParking, Parking, ParkingRecords, Phase
from extender.core.records.parking_reasons import ParkingReason
from shared.ledgers import Declined
from shared.model import JobKey, Uid

MOST_ENDED: Final = 200


class PreemptionState(Struct, frozen=True):
    """State that one pass leaves for the next; losing it costs history, not correctness.

    Attributes:
        primed: A pass has taken over the parkings that ended before this process began.
        open: Parkings under way, by owner.
        ended: The last ones that ended, the newest last.
        without_budget: Why jobs that would be parked have no budget of ours.
        declined: Why proposals were last not followed, by job.
    """

    primed: bool = False
    open: Mapping[Uid, Parking] = {}
    ended: tuple[Parking, ...] = ()
    declined: Mapping[JobKey, Declined] = {}
    without_budget: Mapping[JobKey, NoBudget] = {}


def followed(
    state: PreemptionState, records: ParkingRecords, now: float
) -> tuple[PreemptionState, tuple[Parking, ...]]:
    """Return the state by the owners' records now, and the parkings that ended since the last pass.

    Parkings that ended before the first pass of this process are history, not news.
    """
    news = tuple(_news(state.open, records, now))
    history = () if state.primed else _history(records.by_owner.values())
    ended = (*state.ended, *history, *news)[-MOST_ENDED:]
    open_now = {uid: o.parking for uid, o in records.by_owner.items() if o.parking.open}
    return replace(state, primed=True, open=open_now, ended=ended), news


def _news(
    open_before: Mapping[Uid, Parking], records: ParkingRecords, now: float
) -> Iterable[Parking]:
    for uid, before in sorted(open_before.items()):
        owned = records.by_owner.get(uid)
        if owned is None:
            gone = ParkingReason.OWNER_GONE.value
            yield replace(before, phase=Phase.ABORTED, since=now, why=gone, pods=())
        elif owned.parking.id != before.id:
            yield replace(before, phase=Phase.RESUMED, since=owned.parking.at, pods=())
        elif not owned.parking.open:
            yield owned.parking


def _history(every: Iterable[OwnedParking]) -> tuple[Parking, ...]:
    closed = [owned.parking for owned in every if not owned.parking.open]
    return tuple(sorted(closed, key=lambda parking: (parking.since, parking.id)))
