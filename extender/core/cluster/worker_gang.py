"""The gang of a job whose number of workers may change: its least workers, and all the others."""

from collections.abc import Iterable, Sequence
from typing import Final

from extender.core.cluster.job_spec import WorkerRange
from extender.core.kinds import registry
from extender.core.kinds.base import COORDINATORS, Owners, Problem
from shared import labels
from shared.errors import InputError
from shared.model import Owner, Pod, Uid, WorkerCount

WORKER: Final = "worker"
_WORKER_ROLES: Final = (WORKER, "")
"""Which number of an owner is that of its workers: called so, or the only one it has."""

Living = tuple[str, Owners]
"""Role of a pod that is not leaving, and its owners."""


def worker_count(owner: Owner) -> WorkerCount | None:
    """Return the number of an owner's workers; None if it has none that may change."""
    by_role = {count.role: count for count in owner.counts}
    return next((by_role[role] for role in _WORKER_ROLES if role in by_role), None)


def counted(over: Owners) -> tuple[Owner, WorkerCount] | None:
    """Return the nearest owner that states how many workers it has, and that number."""
    for owner in over.owners:
        count = worker_count(owner)
        if count is not None:
            return owner, count
    return None


def size(
    stated: int | None, bounds: WorkerRange, first: tuple[Pod, Owners], living: Sequence[Living]
) -> int | None:
    """Return the gang size of an elastic job.

    A size that counts the workers there are now follows their number, so it shows how many others
    there are. A size below that number was chosen, so it is kept.

    Args:
        stated: By the job's kind, or our annotation.
        bounds: Of the number of its workers.
        first: The pod whose annotations count, and its owners.
        living: All members that are not leaving.
    """
    pod, over = first
    if stated is None or registry.annotation(pod, over, labels.MIN_AVAILABLE) is not None:
        return stated
    scaled = _scaled(living)
    if scaled is None or stated < scaled.count:
        return stated
    roles = worker_roles(role for role, _ in living)
    others = sum(role not in roles for role, _ in living)
    return bounds.least + max(stated - scaled.count, others)


def workers(bounds: WorkerRange | None, living: Sequence[Living]) -> WorkerRange | None:
    """Return the bounds of the number of workers, as the user and the owner state them.

    None if neither states that they may. Where the two contradict each other, the limits of the
    owner win: it would refuse any other number.
    """
    if bounds is None and not any(_elastic(over) for over in _distinct(living)):
        return None
    scaled = _scaled(living)
    if scaled is None:
        return bounds
    if bounds is None:
        bounds = WorkerRange(1, scaled.most or scaled.count) if scaled.elastic else None
    if bounds is None:
        return None
    most = bounds.most if scaled.most is None else min(bounds.most, scaled.most)
    least = max(1, scaled.least, bounds.least)
    return WorkerRange(min(least, max(1, most)), max(1, most))


def problem(bounds: WorkerRange, living: Sequence[Living]) -> Problem | None:
    """Return what is wrong if the present number of workers is outside of the range.

    No workers at all is a pause and no mistake.
    """
    scaled = _scaled(living)
    if scaled is None or scaled.count == 0 or bounds.least <= scaled.count <= bounds.most:
        return None
    where = " and ".join(field.strip("/").replace("/", ".") for field in scaled.fields)
    expected = f"a range that holds the present number of workers, {scaled.count} ({where})"
    field = f"annotation {labels.WORKERS}"
    return Problem.of(InputError(field, f"{bounds.least}..{bounds.most}", expected))


def worker_roles(roles: Iterable[str]) -> frozenset[str]:
    """Return which of these roles are workers': the one called so, else all that do the work."""
    distinct = frozenset(roles)
    return frozenset({WORKER}) if WORKER in distinct else (distinct - COORDINATORS) or distinct


def deciding_owners(living: Sequence[Living]) -> tuple[tuple[Owner, ...], Uid | None]:
    """Return the owners whose annotations lead to writes to them, the nearest first.

    The owner that states the number of workers, and those over it; that owner's uid beside them.
    Where none does, or several do, no number is written: then those over the first pod that has
    owners, and None.
    """
    roles = worker_roles(role for role, _ in living)
    chains: dict[Uid, tuple[Owner, ...]] = {}
    for over in _distinct(one for one in living if one[0] in roles):
        place = next((i for i, one in enumerate(over.owners) if worker_count(one)), None)
        if place is not None:
            chains[over.owners[place].uid] = over.owners[place:]
    if len(chains) == 1:
        return next((chain, uid) for uid, chain in chains.items())
    return next((over.owners for _, over in living if over.owners), ()), None


def _scaled(living: Sequence[Living]) -> WorkerCount | None:
    """Return the number of the only owner whose pods are workers; None if there are several."""
    chain, scaled_by = deciding_owners(living)
    return worker_count(chain[0]) if scaled_by is not None else None


def _distinct(living: Iterable[Living]) -> Iterable[Owners]:
    return {id(over): over for _, over in living}.values()


def _elastic(over: Owners) -> bool:
    count = counted(over)
    return count is not None and count[1].elastic
