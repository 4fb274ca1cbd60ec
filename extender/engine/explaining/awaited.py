"""Waiting for workers that others give up so that the job starts: whose, and how many."""

from collections.abc import Iterator

from extender.engine import jobs
from extender.engine.explaining.offers import Offer, names
from extender.engine.explaining.others import without
from extender.engine.explaining.situation import Situation, Trials
from extender.engine.scaling import records, yielding
from extender.policy.reservation import Tenant
from shared.explanation import Step, StepKind
from shared.model import JobKey

FIELD = "workers"


def wait(s: Situation, trials: Trials) -> Iterator[Offer]:
    """Yield those whose workers leave, if the job runs when they have left."""
    under_way = (noted.rescale for noted in records.of(s.snapshot).open)
    found = [_leaving(s, one.job) for one in under_way if one.starts == s.job.key]
    if not found or not trials.runs(s.with_room(without(s.room, found))):
        return
    steps = tuple(
        Step(kind=StepKind.WAIT, subject=one.job, field=FIELD, amount=len(one.seats))
        for one in found
    )
    count = sum(len(one.seats) for one in found)
    have = "have" if len(found) > 1 else "has"
    left = f"{count} workers" if count > 1 else "1 worker"
    yield Offer(steps, f"wait until {names([one.job for one in found])} {have} given up {left}")


def _leaving(s: Situation, key: JobKey) -> Tenant:
    """Return the workers of a job that leave, as a tenant of their own."""
    going = yielding.leaving(s.snapshot)
    members = jobs.view(s.snapshot, key).members if key in s.snapshot.jobs else ()
    index = s.room.index
    seats = [
        (m.shape, index[m.node])
        for m in members
        if m.pod.uid in going and m.node is not None and m.node in index
    ]
    return Tenant(key, 0.0, None, seats)
