"""The state of the decision: changes under way, and ended changes with their outcome."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from extender.core.elastic.measured_speeds import SpeedMemory
from extender.core.queue import running_jobs
from extender.core.records.rescale import Cause, Phase, Rescale, RescaleRecords
from extender.core.records.rescale_reasons import ScalingReason
from shared.model import JobKey, Uid
from shared.readapi.ledgers import Declined

MOST_ENDED: Final = 200


class Ending(StrEnum):
    """How a change ended."""

    DONE = "Done"
    ABORTED = "Aborted"
    WITHDRAWN = "Withdrawn"
    """The new workers found no room, and were given back."""


class Ended(Struct, frozen=True):
    """A change that is over.

    Attributes:
        rescale: Its last record.
        outcome: How it ended.
        step_seconds_before: Step time with the workers before it; None if not measured.
        step_seconds_after: Step time with the workers after it.
    """

    rescale: Rescale
    outcome: Ending
    step_seconds_before: float | None = None
    step_seconds_after: float | None = None


class ElasticState(Struct, frozen=True):
    """State that one pass leaves for the next; losing it costs history, not correctness.

    Attributes:
        primed: A pass has taken over the changes that ended before this process began.
        open: Changes under way, by owner.
        ended: The last ones that ended, the newest last.
        declined: Why proposals were last not followed, by job.
        speeds: How fast jobs train with how many workers.
    """

    primed: bool = False
    open: Mapping[Uid, Rescale] = {}
    ended: tuple[Ended, ...] = ()
    declined: Mapping[JobKey, Declined] = {}
    speeds: SpeedMemory = SpeedMemory()


def followed(
    state: ElasticState, records: RescaleRecords, now: float
) -> tuple[ElasticState, tuple[Ended, ...]]:
    """Return the state by the owners' records now, and the changes that ended since the last pass.

    Changes that ended before the first pass of this process are history, not news.
    """
    news = tuple(_news(state.open, records, now))
    history = () if state.primed else _history(records)
    ended = (*state.ended, *history, *news)[-MOST_ENDED:]
    open_now = {uid: n.rescale for uid, n in records.by_owner.items() if n.rescale.open}
    return replace(state, primed=True, open=open_now, ended=ended), news


def measured(state: ElasticState) -> ElasticState:
    """Return the state with the step times that were measured before and after changes.

    A step time is set once: later runs of the same name must not change it.
    """
    ended = tuple(_measured(change, state.speeds) for change in state.ended)
    return state if ended == state.ended else replace(state, ended=ended)


def _measured(change: Ended, speeds: SpeedMemory) -> Ended:
    before, after = change.step_seconds_before, change.step_seconds_after
    if before is not None and after is not None:
        return change
    samples = speeds.samples.get(running_jobs.run_name(change.rescale.job))
    seconds = {m.workers: m.seconds for m in samples.measured} if samples is not None else {}
    return replace(
        change,
        step_seconds_before=seconds.get(change.rescale.before) if before is None else before,
        step_seconds_after=seconds.get(change.rescale.to) if after is None else after,
    )


def _news(
    open_before: Mapping[Uid, Rescale], records: RescaleRecords, now: float
) -> Iterable[Ended]:
    for uid, before in sorted(open_before.items()):
        noted = records.by_owner.get(uid)
        if noted is None:
            gone = ScalingReason.OWNER_GONE.value
            last = replace(before, phase=Phase.ABORTED, since=now, why=gone)
            yield Ended(last, Ending.ABORTED)
        elif noted.rescale.id != before.id:
            withdrawn = noted.rescale.cause is Cause.WITHDRAWN
            last = replace(before, phase=Phase.DONE, since=noted.rescale.at)
            yield Ended(last, Ending.WITHDRAWN if withdrawn else Ending.DONE)
        elif not noted.rescale.open:
            yield _of(noted.rescale)


def _history(records: RescaleRecords) -> tuple[Ended, ...]:
    closed = [n.rescale for n in records.by_owner.values() if not n.rescale.open]
    return tuple(
        _of(change) for change in sorted(closed, key=lambda change: (change.since, change.id))
    )


def _of(rescale: Rescale) -> Ended:
    aborted = rescale.phase is Phase.ABORTED
    return Ended(rescale, Ending.ABORTED if aborted else Ending.DONE)
