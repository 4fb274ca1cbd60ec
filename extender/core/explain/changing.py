"""The changes that make a job run, the smallest first (docs/explain.md says in which order)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from extender.core.cluster.jobs import Job
from extender.core.cluster.session import Reading
from extender.core.explain import cluster_changes, job_changes, wait_for_others
from extender.core.explain.corrections import Correction
from extender.core.explain.offers import Offer
from extender.core.explain.several import Way, together
from extender.core.explain.trial import Situation, Trials
from extender.core.queue.backfill import HeadReservation
from extender.core.queue.state import QueueState
from shared.explanation import Change, Step, StepKind

_OF_THE_JOB: Final[tuple[Way, ...]] = (
    job_changes.change_selector,
    job_changes.tolerate,
    job_changes.drop_affinity,
    job_changes.drop_topology,
    job_changes.change_port,
    job_changes.lower_requests,
    job_changes.lower_gang_size,
)
_OF_NODES: Final[tuple[Way, ...]] = (
    cluster_changes.free,
    cluster_changes.remove_taint,
    cluster_changes.add_nodes,
)


_LARGE: Final = frozenset({StepKind.LOWER_MIN_AVAILABLE, StepKind.ADD_NODES})
"""Changes beside which several smaller ones together are worth naming."""


@dataclass(frozen=True, eq=False)
class Before:
    """What comes before the nodes: corrections, the end of a back-off, and the backfill head.

    Attributes:
        corrections: In the order in which they are made.
        again_at: When the job may try again, seconds since the epoch; None if it may.
        head: What room is kept, if not for this job.
        ahead: For which job; it takes first what comes free.
    """

    corrections: Sequence[Correction] = ()
    again_at: float | None = None
    head: HeadReservation | None = None
    ahead: Job | None = None


def changes(
    s: Situation, before: Before, trials: Trials, memory: QueueState, reading: Reading
) -> tuple[Change, ...]:
    """Return what would make the job run; each is enough alone, and each was tried.

    Args:
        s: The situation as it is.
        before: What stands before the nodes.
        trials: How much may be tried.
        memory: Of the last cycle, for the ends of others.
        reading: Now.
    """
    mended = before.corrections[-1].after if before.corrections else s
    steps, says = _first(s, before)
    if trials.runs(mended):
        found = [Offer(steps, ", and then ".join(says))] if steps else []
    else:
        ways = _ways(mended, before, trials, memory, reading)
        found = [offer.after(steps, says) for offer in ways]
    return tuple(offer.told() for offer in (*found, *_with_fewer(s, before, trials)))


def _first(s: Situation, before: Before) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """Return the steps that every change begins with."""
    steps = [step for one in before.corrections for step in one.steps]
    says = [one.says for one in before.corrections]
    if before.again_at is not None:
        at = before.again_at
        steps.append(Step(kind=StepKind.WAIT, subject=s.job.key, field="back-off", at=at))
        says.append("wait until its back-off is over")
    return tuple(steps), tuple(says)


def _ways(
    s: Situation, before: Before, trials: Trials, memory: QueueState, reading: Reading
) -> Iterator[Offer]:
    wait: Way = partial(wait_for_others.wait, memory=memory, reading=reading)
    if before.head is not None:
        wait = partial(
            wait_for_others.wait_behind, head=before.head, memory=memory, reading=reading
        )
    nodes = s if before.ahead is None else s.behind(before.ahead)
    ways: list[tuple[Way, Situation]] = [
        (wait_for_others.wait_for_workers, s),
        (cluster_changes.uncordon, nodes),
    ]
    ways += [(way, s) for way in (*_OF_THE_JOB, wait)]
    ways += [(way, nodes) for way in _OF_NODES]
    kinds: set[StepKind] = set()
    for way, tried in ways:
        for offer in way(tried, trials):
            kinds.add(offer.kind)
            yield offer
    if kinds <= _LARGE:
        last = () if kinds else (job_changes.lower_gang_size, cluster_changes.add_nodes)
        yield from together(s, trials, (job_changes.lower_requests, wait, *last))


def _with_fewer(s: Situation, before: Before, trials: Trials) -> Iterator[Offer]:
    """Yield the gang size of the pods that are there, where some are missing."""
    missing = [i for i, one in enumerate(before.corrections) if one.cause == "pods-missing"]
    if missing == [0]:
        yield from job_changes.lower_gang_size(s, trials)
