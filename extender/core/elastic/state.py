"""What is remembered of changes: those under way, and those that ended, with what came of them."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from extender.core.elastic.speeds import SpeedMemory
from extender.core.queue import running_jobs
from extender.core.records.rescale import Cause, Phase, Rescale, RescaleRecords
from extender.core.records.rescale_reasons import ScalingReason
from shared.ledgers import Declined
from shared.model import JobKey, Uid

MOST_ENDED: Final = 200


class Ending(StrEnum):
    """What came of a change."""

    DONE = "Done"
    ABORTED = "Aborted"
    WITHDRAWN = "Withdrawn"
    """The new workers found no room, and were given back."""


class Ended(Struct, frozen=True):
    """A change that is over.

    Attributes:
        rescale: As it was last.
        outcome: What came of it.
        step_seconds_before: What a step took with the workers before; None if nobody measured it.
        step_seconds_after: The same with those after it.
    """

    rescale: Rescale
    outcome: Ending
    step_seconds_before: float | None = None
    step_seconds_after: float | None = None


class ElasticState(Struct, frozen=True):
    """What is remembered from one look to the next; losing it costs history, not correctness.

    Attributes:
        primed: Some look has taken over what ended before this life of ours.
        open: Changes under way, by owner.
        ended: The last ones that ended, the newest last.
        declined: Why proposals were not followed when they were looked at last, by job.
        speeds: How fast jobs train with how many workers.
    """

    primed: bool = False
    open: Mapping[Uid, Rescale] = {}
    ended: tuple[Ended, ...] = ()
    declined: Mapping[JobKey, Declined] = {}
    speeds: SpeedMemory = SpeedMemory()


def followed(
    memory: ElasticState, records: RescaleRecords, now: float
) -> tuple[ElasticState, tuple[Ended, ...]]:
    """Return the memory after what the owners say now, and which changes ended since it was made.

    What ended before the first look of this life is history, not news.
    """
    news = tuple(_news(memory.open, records, now))
    history = () if memory.primed else _history(records)
    ended = (*memory.ended, *history, *news)[-MOST_ENDED:]
    open_now = {uid: n.rescale for uid, n in records.by_owner.items() if n.rescale.open}
    return replace(memory, primed=True, open=open_now, ended=ended), news


def measured(memory: ElasticState) -> ElasticState:
    """Return the memory with what agents measured of jobs before and after their changes.

    What is known once stays: later runs of the same name must not change it.
    """
    told = tuple(_measured(one, memory.speeds) for one in memory.ended)
    return memory if told == memory.ended else replace(memory, ended=told)


def _measured(one: Ended, speeds: SpeedMemory) -> Ended:
    if one.step_seconds_before is not None and one.step_seconds_after is not None:
        return one
    samples = speeds.samples.get(running_jobs.run_name(one.rescale.job))
    known = {m.workers: m.seconds for m in samples.measured} if samples is not None else {}
    before, after = one.step_seconds_before, one.step_seconds_after
    return replace(
        one,
        step_seconds_before=known.get(one.rescale.before) if before is None else before,
        step_seconds_after=known.get(one.rescale.to) if after is None else after,
    )


def _news(known: Mapping[Uid, Rescale], records: RescaleRecords, now: float) -> Iterable[Ended]:
    for uid, before in sorted(known.items()):
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
    return tuple(_of(one) for one in sorted(closed, key=lambda one: (one.since, one.id)))


def _of(rescale: Rescale) -> Ended:
    aborted = rescale.phase is Phase.ABORTED
    return Ended(rescale, Ending.ABORTED if aborted else Ending.DONE)
