"""The state of the decision: parkings under way, and those that ended."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from extender.core.preemption.parking_costs import is_awaited
from extender.core.records.drain_budget_reasons import NoBudget
from extender.core.records.parking import Parking, ParkingRecords, Phase
from extender.core.records.parking_reasons import ParkingReason
from shared.model import JobKey, Uid
from shared.readapi.ledgers import Declined

MOST_ENDED: Final = 200


class PreemptionState(Struct, frozen=True):
    """State that one pass leaves for the next; losing it costs history, not correctness.

    Attributes:
        primed: A pass has taken over the parkings that ended before this process began.
        open: Parkings under way, by owner.
        ended: The last ones that ended, the newest last.
        unmeasured: Ids of those whose restart is not measured yet.
        without_budget: Why jobs that would be parked have no budget of ours.
        declined: Why proposals were last not followed, by job.
    """

    primed: bool = False
    open: Mapping[Uid, Parking] = {}
    ended: tuple[Parking, ...] = ()
    unmeasured: tuple[str, ...] = ()
    declined: Mapping[JobKey, Declined] = {}
    without_budget: Mapping[JobKey, NoBudget] = {}


class News(NamedTuple):
    """What has changed since the last pass.

    Attributes:
        ended: Parkings that ended.
        measured: Parkings whose restart was measured; they had ended before.
    """

    ended: tuple[Parking, ...]
    measured: tuple[Parking, ...]


def followed(
    state: PreemptionState, records: ParkingRecords, now: float
) -> tuple[PreemptionState, News]:
    """Return the state by the owners' records now, and what is new.

    Parkings that ended before the first pass of this process are history, not news.
    """
    every = [owned.parking for owned in records.by_owner.values()]
    news = tuple(_news(state.open, records, now))
    measured = {one.id: one for one in every if _is_measured(one, state.unmeasured)}
    history = () if state.primed else _history(every)
    ended = (*state.ended, *history, *news)[-MOST_ENDED:]
    ended = tuple(measured.get(one.id, one) for one in ended)
    open_now = {uid: o.parking for uid, o in records.by_owner.items() if o.parking.open}
    unmeasured = tuple(sorted(one.id for one in every if is_awaited(one)))
    state = replace(state, primed=True, open=open_now, ended=ended, unmeasured=unmeasured)
    return state, News(news, tuple(measured.values()))


def _is_measured(parking: Parking, unmeasured: Collection[str]) -> bool:
    return parking.id in unmeasured and parking.cost.restart_seconds is not None


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


def _history(every: Iterable[Parking]) -> tuple[Parking, ...]:
    closed = [parking for parking in every if not parking.open]
    return tuple(sorted(closed, key=lambda parking: (parking.since, parking.id)))
