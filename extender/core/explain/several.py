"""What none of the single changes does: several of the job's demands given up together."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from extender.core.explain import job_changes
from extender.core.explain.offers import Offer
from extender.core.explain.trial import Situation, Trials
from extender.core.nodes.feasibility import taint_text
from shared.explanation import Step, StepKind
from shared.model import PodShape

Way = Callable[[Situation, Trials], Iterator[Offer]]
"""Yields changes of one kind that make the job run."""
_Change = Callable[[PodShape], PodShape]


@dataclass(frozen=True)
class _Demand:
    """A demand on nodes that the job could give up: how, and how that is said."""

    give_up: _Change
    steps: tuple[Step, ...]
    says: str


def together(s: Situation, trials: Trials, further: Iterable[Way]) -> Iterator[Offer]:
    """Yield the demands on nodes that must go; else one of them, or all, and a further change.

    Args:
        s: A situation in which no demand alone is what hinders.
        trials: How much may be tried.
        further: Ways to change what is left, the best first.
    """
    demands = _demands(s)
    if not demands:
        return

    def without(given_up: list[int]) -> Situation:
        found = s
        for i in given_up:
            found = found.reshaped(demands[i].give_up)
        return found

    everything = list(range(len(demands)))
    bare = without(everything)
    if trials.runs(bare):
        yield _offer([demands[i] for i in trials.needed(everything, without)])
        return
    ways = tuple(further)
    for some in ([[i] for i in everything] if len(demands) > 1 else []) + [everything]:
        first = _offer([demands[i] for i in some])
        for way in ways:
            for offer in way(without(some), trials):
                yield offer.after(first.steps, (first.says,))
                return


def _demands(s: Situation) -> list[_Demand]:
    """Return the selectors, the affinity, and what stands behind them: the taints."""
    found = [
        _Demand(
            partial(job_changes.selecting, key=key, old=value, new=""),
            (Step(kind=StepKind.CHANGE_SELECTOR, subject=s.job.key, field=key, before=value),),
            f"drop the node selector {key}={value}",
        )
        for key, value in dict.fromkeys(p for m in s.waiting for p in m.pod.shape.node_selector)
    ]
    if any(m.pod.shape.affinity is not None for m in s.waiting):
        step = Step(kind=StepKind.DROP_AFFINITY, subject=s.job.key)
        says = "drop the required node affinity"
        found.append(_Demand(job_changes.without_affinity, (step,), says))
    bare = s.reshaped(job_changes.without_selector).reshaped(job_changes.without_affinity)
    for taint in job_changes.hard_taints(bare):
        text = taint_text(taint)
        step = Step(kind=StepKind.ADD_TOLERATION, subject=s.job.key, field=text)
        found.append(
            _Demand(
                partial(job_changes.tolerating, taints=[taint]),
                (step,),
                f"add a toleration of {text}",
            )
        )
    return found


def _offer(demands: list[_Demand]) -> Offer:
    steps = tuple(step for demand in demands for step in demand.steps)
    return Offer(steps, " and ".join(demand.says for demand in demands))
