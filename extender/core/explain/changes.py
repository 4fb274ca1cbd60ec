"""The changes that make a job run, the smallest first (docs/explain.md lists their order)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from extender.core.cluster.jobs import Job
from extender.core.explain import cluster_changes, job_changes, wait_for_others
from extender.core.explain.corrections import Correction
from extender.core.explain.trials import Offer, Scenario, Trials, Way
from extender.core.nodes.feasibility import taint_text
from extender.core.queue.backfill import HeadReservation
from extender.core.queue.state import QueueState
from shared.model import PodShape
from shared.readapi.explanation import Change, Step, StepKind

_OF_THE_JOB: Final[tuple[Way, ...]] = (
    job_changes.change_selector,
    job_changes.tolerate,
    job_changes.drop_affinity,
    job_changes.drop_topology,
    job_changes.share_devices,
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
"""If only such changes help, several smaller ones together are offered too."""


@dataclass(frozen=True, eq=False)
class Preconditions:
    """What must be over before the nodes matter.

    Attributes:
        corrections: In the order in which they are made.
        again_at: End of the job's back-off, seconds since the epoch; None without one.
        head: The reservation of another job; None if there is none.
        ahead: The job that holds it; what comes free is taken by that job first.
    """

    corrections: Sequence[Correction] = ()
    again_at: float | None = None
    head: HeadReservation | None = None
    ahead: Job | None = None


def changes(
    s: Scenario, before: Preconditions, trials: Trials, state: QueueState
) -> tuple[Change, ...]:
    """Return what would make the job run; each change is enough alone, and each was tried.

    Args:
        s: The unchanged scenario.
        before: What must be over before the nodes matter.
        trials: How much may be tried.
        state: Of the last pass of the queue, for the ends of other jobs.
    """
    corrected = before.corrections[-1].after if before.corrections else s
    steps, texts = _first_steps(s, before)
    if trials.runs(corrected):
        offers = [Offer(steps, ", and then ".join(texts))] if steps else []
    else:
        tried = _offers(corrected, before, trials, state)
        offers = [offer.after(steps, texts) for offer in tried]
    return tuple(offer.change() for offer in (*offers, *_with_fewer(s, before, trials)))


def _first_steps(s: Scenario, before: Preconditions) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """Return the steps that every change begins with."""
    steps = [step for correction in before.corrections for step in correction.steps]
    texts = [correction.text for correction in before.corrections]
    if before.again_at is not None:
        at = before.again_at
        steps.append(Step(kind=StepKind.WAIT, subject=s.job.key, field="back-off", at=at))
        texts.append("wait until its back-off is over")
    return tuple(steps), tuple(texts)


def _offers(
    s: Scenario, before: Preconditions, trials: Trials, state: QueueState
) -> Iterator[Offer]:
    wait: Way = partial(wait_for_others.wait, state=state)
    if before.head is not None:
        wait = partial(wait_for_others.wait_behind, head=before.head, state=state)
    behind = s if before.ahead is None else s.with_job_ahead(before.ahead)
    ways: list[tuple[Way, Scenario]] = [
        (wait_for_others.wait_for_workers, s),
        (wait_for_others.wait_for_parked, s),
        (wait_for_others.wait_for_room_of_others, s),
        (cluster_changes.uncordon, behind),
    ]
    ways += [(way, s) for way in (*_OF_THE_JOB, wait)]
    ways += [(way, behind) for way in _OF_NODES]
    kinds: set[StepKind] = set()
    for way, scenario in ways:
        for offer in way(scenario, trials):
            kinds.add(offer.kind)
            yield offer
    if kinds <= _LARGE:
        last = () if kinds else (job_changes.lower_gang_size, cluster_changes.add_nodes)
        yield from _combined(s, trials, (job_changes.lower_requests, wait, *last))


def _with_fewer(s: Scenario, before: Preconditions, trials: Trials) -> Iterator[Offer]:
    """Yield a gang size of the existing pods, if the first correction is to create pods."""
    if before.corrections and before.corrections[0].cause == "pods-missing":
        yield from job_changes.lower_gang_size(s, trials)


@dataclass(frozen=True)
class _Demand:
    """A demand on nodes that the job could drop."""

    drop: Callable[[PodShape], PodShape]
    steps: tuple[Step, ...]
    text: str


def _combined(s: Scenario, trials: Trials, further: Iterable[Way]) -> Iterator[Offer]:
    """Yield the demands to drop together; else one of them, or all, with a further change.

    Args:
        s: A scenario in which dropping one demand is not enough.
        trials: How much may be tried.
        further: Ways to change the rest, the best first.
    """
    demands = _demands(s)
    if not demands:
        return

    def without(dropped: list[int]) -> Scenario:
        scenario = s
        for i in dropped:
            scenario = scenario.with_shapes(demands[i].drop)
        return scenario

    everything = list(range(len(demands)))
    if trials.runs(without(everything)):
        yield _dropping([demands[i] for i in trials.needed(everything, without)])
        return
    ways = tuple(further)
    for dropped in ([[i] for i in everything] if len(demands) > 1 else []) + [everything]:
        first = _dropping([demands[i] for i in dropped])
        for way in ways:
            for offer in way(without(dropped), trials):
                yield offer.after(first.steps, (first.text,))
                return


def _demands(s: Scenario) -> list[_Demand]:
    """Return the selectors, the affinity, and the taints of the nodes that these leave out."""
    demands = [
        _Demand(
            partial(job_changes.with_selector, key=key, old=value, new=""),
            (Step(kind=StepKind.CHANGE_SELECTOR, subject=s.job.key, field=key, before=value),),
            f"drop the node selector {key}={value}",
        )
        for key, value in dict.fromkeys(p for m in s.waiting for p in m.pod.shape.node_selector)
    ]
    if any(m.pod.shape.affinity is not None for m in s.waiting):
        step = Step(kind=StepKind.DROP_AFFINITY, subject=s.job.key)
        text = "drop the required node affinity"
        demands.append(_Demand(job_changes.without_affinity, (step,), text))
    bare = s.with_shapes(job_changes.without_selector).with_shapes(job_changes.without_affinity)
    for taint in job_changes.blocking_taints(bare):
        text = taint_text(taint)
        step = Step(kind=StepKind.ADD_TOLERATION, subject=s.job.key, field=text)
        drop = partial(job_changes.with_tolerations, taints=[taint])
        demands.append(_Demand(drop, (step,), f"add a toleration of {text}"))
    return demands


def _dropping(demands: list[_Demand]) -> Offer:
    steps = tuple(step for demand in demands for step in demand.steps)
    return Offer(steps, " and ".join(demand.text for demand in demands))
