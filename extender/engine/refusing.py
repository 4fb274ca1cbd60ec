"""Jobs that ask for the same are refused alike: the room is searched once for all of them.

Thousands of jobs that wait for room are mostly of a few kinds, and most cycles find the room as the
one before left it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from extender.engine import planning
from extender.engine.jobs import Job, State
from extender.engine.memo import Alike, Memo
from extender.engine.migration import aiming
from extender.engine.parameters import EngineParameters
from extender.engine.planning import Plan, Refusal
from extender.policy.room import Room
from shared.model import NodeName, Uid

_WAITING: Final = frozenset({State.GATED, State.HELD, State.DIRECT, State.SUCCEEDED, State.FAILED})
"""A job whose members are all in one of these states is known by what it asks for."""
_ASKED: Final = "asked"


def plan(
    memo: Memo,
    job: Job,
    room: Room,
    params: EngineParameters,
    value: float,
    *,
    was_whole: bool,
    targets: Mapping[Uid, NodeName],
    rule: str = aiming.MIGRATION,
) -> Plan | Refusal:
    """Return what ``planning.plan`` does, without planning where the refusal is known."""
    alike = None if targets else asks_for(job)
    if alike is None:
        return planning.plan(
            job, room, params, value, was_whole=was_whole, targets=targets, rule=rule
        )
    refusals = memo.refusals.of(room, params)
    known: Refusal | None = refusals.get(alike)
    if known is not None:
        return known
    result = planning.plan(job, room, params, value, was_whole=was_whole, lone=memo.lone)
    if isinstance(result, Refusal):
        refusals[alike] = result
    return result


def asks_for(job: Job) -> Alike | None:
    """Return what a refusal of the job depends on beside the room; None if that is its pods too.

    Which pods there are, how they are called and when they came makes a plan, but no refusal.
    """
    if _ASKED not in job.derived:
        job.derived[_ASKED] = _asked(job)
    found: Alike | None = job.derived[_ASKED]
    return found


def _asked(job: Job) -> Alike | None:
    if any(member.state not in _WAITING for member in job.members):
        return None
    members = planning.in_order(job.members)
    asked = tuple((m.state, m.role, m.rank, m.shape) for m in members)
    wishes = replace(job.wishes, max_wait_seconds=None, expected_seconds=None)  # time is no room
    return Alike((job.problem, job.min_available, job.kept, wishes, asked))
