"""The changes that make a job run, the smallest first (docs/explain.md says in which order)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from extender.engine.explaining import awaited, cluster, others, own
from extender.engine.explaining.corrections import Correction
from extender.engine.explaining.offers import Offer
from extender.engine.explaining.several import Way, together
from extender.engine.explaining.situation import Situation, Trials
from extender.engine.jobs import Job
from extender.engine.memory import Memory, Reading
from extender.policy.reservation import Reservation
from shared.explanation import Change, Step, StepKind

_OF_THE_JOB: Final[tuple[Way, ...]] = (
    own.change_selector,
    own.tolerate,
    own.drop_affinity,
    own.drop_topology,
    own.change_port,
    own.lower_requests,
    own.lower_gang_size,
)
_OF_NODES: Final[tuple[Way, ...]] = (cluster.free, cluster.remove_taint, cluster.add_nodes)


_LARGE: Final = frozenset({StepKind.LOWER_MIN_AVAILABLE, StepKind.ADD_NODES})
"""Changes beside which several smaller ones together are worth naming."""


@dataclass(frozen=True, eq=False)
class Before:
    """What comes before the nodes: corrections, the end of a back-off, and the holder.

    Attributes:
        corrections: In the order in which they are made.
        again_at: When the job may try again, seconds since the epoch; None if it may.
        holder: What room is kept, if not for this job.
        ahead: For which job; it takes first what comes free.
    """

    corrections: Sequence[Correction] = ()
    again_at: float | None = None
    holder: Reservation | None = None
    ahead: Job | None = None


def changes(
    s: Situation, before: Before, trials: Trials, memory: Memory, reading: Reading
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
    s: Situation, before: Before, trials: Trials, memory: Memory, reading: Reading
) -> Iterator[Offer]:
    wait: Way = partial(others.wait, memory=memory, reading=reading)
    if before.holder is not None:
        wait = partial(others.wait_behind, holder=before.holder, memory=memory, reading=reading)
    nodes = s if before.ahead is None else s.behind(before.ahead)
    ways: list[tuple[Way, Situation]] = [(awaited.wait, s), (cluster.uncordon, nodes)]
    ways += [(way, s) for way in (*_OF_THE_JOB, wait)]
    ways += [(way, nodes) for way in _OF_NODES]
    kinds: set[StepKind] = set()
    for way, tried in ways:
        for offer in way(tried, trials):
            kinds.add(offer.kind)
            yield offer
    if kinds <= _LARGE:
        last = () if kinds else (own.lower_gang_size, cluster.add_nodes)
        yield from together(s, trials, (own.lower_requests, wait, *last))


def _with_fewer(s: Situation, before: Before, trials: Trials) -> Iterator[Offer]:
    """Yield the gang size of the pods that are there, where some are missing."""
    missing = [i for i, one in enumerate(before.corrections) if one.cause == "pods-missing"]
    if missing == [0]:
        yield from own.lower_gang_size(s, trials)
