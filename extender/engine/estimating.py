"""When each waiting job starts, if everything goes on as is known now (``playing``).

Behind a job whose start is unknown nobody has an estimate but those that fit now: it may start at
any moment, and take what they wait for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from extender.engine import jobs, tenants, waiting
from extender.engine.admission import slot_time
from extender.engine.admission.planned import planned
from extender.engine.memory import Reading
from extender.engine.parameters import EngineParameters
from extender.engine.playing import Play, Start
from extender.engine.queueing import Cycle
from extender.engine.reasons import Reason
from extender.engine.snapshot import Snapshot
from shared.model import JobKey

MOST_JOBS: Final = 100
"""Jobs that are looked at, the first of the queue."""

ON_ITS_WAY: Final = "seats are taken"
FITS_NOW: Final = "fits now"
IN_TURN: Final = "fits when its turn comes"
TOO_FAR: Final = "too far ahead to be computed"
BY_PLAN: Final = "its slot plan"
NO_SLOT: Final = "its slot plan has no room for it yet"
QUOTA: Final = "waits for the quota of its namespace: no end of a job that holds it is known"
NEVER_FITS: Final = "does not fit even if every other job has ended"


@dataclass(frozen=True)
class Estimate:
    """When a job starts (seconds since the epoch), and what that rests on, or why it is unknown."""

    starts_at: float | None
    why: str


UNKNOWN: Final = Estimate(None, "")
"""Nothing was worked out yet."""


def estimates(
    snapshot: Snapshot, cycle: Cycle, params: EngineParameters, reading: Reading
) -> Mapping[JobKey, Estimate]:
    """Return an estimate for every job in the queue of ``cycle``; a bounded computation.

    Args:
        snapshot: The cluster, as of that cycle or later.
        cycle: The last cycle.
        params: See there.
        reading: Now.
    """
    entries = [entry for entry in cycle.entries if entry.job.key in snapshot.jobs]
    told = {
        entry.job.key: Estimate(reading.now, ON_ITS_WAY)
        for entry in entries
        if entry.reason is Reason.RELEASING
    }
    told |= _by_plan(snapshot, cycle, reading)
    waits = [entry for entry in entries if entry.job.key not in told]
    looked = {entry.job.key: entry.reason for entry in waits[:MOST_JOBS]}
    stuck = {key: reason for key, reason in looked.items() if reason not in waiting.TIME_HELPS}
    told |= {key: Estimate(None, f"cannot start: {reason}") for key, reason in stuck.items()}
    told |= {entry.job.key: Estimate(None, TOO_FAR) for entry in waits[MOST_JOBS:]}
    play = _played(snapshot, cycle, params, reading, stuck, looked)
    return told | _in_order(play, {k: why for k, why in looked.items() if k not in stuck})


def _by_plan(snapshot: Snapshot, cycle: Cycle, reading: Reading) -> Mapping[JobKey, Estimate]:
    """Return when those start that are admitted and wait for their slot; they play no part."""
    found: dict[JobKey, Estimate] = {}
    waits = [e.job.key for e in cycle.entries if e.reason is Reason.AWAITING_SLOT]
    plans = planned(snapshot) if waits else {}
    for key in waits:
        plan = plans[key].plan if key in plans else None
        slot = slot_time.slot_at(reading.now, plan.slot_seconds) if plan else 0
        first = min((s.first for s in plan.spans if s.last >= slot), default=None) if plan else None
        if plan is None or first is None:
            found[key] = Estimate(None, NO_SLOT)
        else:
            at = slot_time.begins_at(first, plan.slot_seconds)
            found[key] = Estimate(max(at, reading.now), BY_PLAN)
    return found


def _played(
    snapshot: Snapshot,
    cycle: Cycle,
    params: EngineParameters,
    reading: Reading,
    stuck: Mapping[JobKey, Reason],
    keys: Iterable[JobKey],
) -> Play:
    memory, stale_seconds = cycle.memory, params.migration.stale_seconds
    pending = {key: jobs.view(snapshot, key) for key in keys}
    play = Play(snapshot, params, memory.runs, stuck, reading.now, snapshot.room, pending)
    play.run(tenants.running(snapshot, memory, reading, stale_seconds))
    return play


def _in_order(play: Play, waits: Mapping[JobKey, Reason]) -> dict[JobKey, Estimate]:
    """Return an estimate for each of these jobs, which come in the order of the queue."""
    found: dict[JobKey, Estimate] = {}
    first = ""
    for key, reason in waits.items():
        start = play.starts.get(key)
        if start is not None and (start.first or not first):
            found[key] = Estimate(start.at, _rests_on(start))
        elif reason is Reason.WAITING_FOR_QUOTA:  # nobody stands behind it: what it waits for is
            found[key] = Estimate(None, TOO_FAR if play.too_far else QUOTA)  # its namespace's own
        elif first:
            found[key] = Estimate(None, f"behind {first}, whose start is unknown")
        else:
            found[key] = Estimate(None, _obstacle(play, key))
            first = "" if found[key].why == NEVER_FITS else _name(key)
    return found


def _rests_on(start: Start) -> str:
    if start.first:
        return FITS_NOW
    return f"durations by {', '.join(sorted(start.ends_by))}" if start.ends_by else IN_TURN


def _obstacle(play: Play, key: JobKey) -> str:
    if play.too_far:
        return TOO_FAR
    found = play.obstacle(key)
    if found is None or found.end is None:
        return NEVER_FITS
    return f"waits for {_name(found.tenant.job)}, whose end is unknown: {found.end.why}"


def _name(key: JobKey) -> str:
    namespace, _, name = key.split("/", 2)
    return f"{namespace}/{name}"
