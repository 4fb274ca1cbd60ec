"""The policies that can be compared, by name: how each is made for one workload and seed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import Order
from simulator.baselines.estimates import Estimates
from simulator.baselines.kubernetes import DefaultSpread, Volcano
from simulator.baselines.marginal_gain import Optimus, SlaqLike
from simulator.baselines.preemptive import DensityGreedy, ShortestRemaining, Tiresias
from simulator.cluster.decider import Decider
from simulator.cluster.engine_decider import EngineDecider
from simulator.comparison.deciders.combined import Combined, CombinedParameters
from simulator.comparison.deciders.count_balancing import CountBalancing
from simulator.comparison.deciders.drs import Drs
from simulator.comparison.deciders.oasis import Oasis, Slotted
from simulator.comparison.deciders.specon import SpeCon
from simulator.workload import Job


@dataclass(frozen=True)
class Setting:
    """What a policy is made with.

    Attributes:
        seed: Of the errors of estimates.
        error: Their size (``estimates``).
        history: Past jobs, for OASiS' price bounds; of training windows.
        engine: Parameters of the same file as the extender's.
        combined: Parameters of ``combined``.
    """

    seed: int
    error: float = 0.15
    history: Sequence[Job] = ()
    engine: CoreParameters = field(default_factory=CoreParameters)
    combined: CombinedParameters = field(default_factory=CombinedParameters)

    @property
    def estimates(self) -> Estimates:
        """What everybody who asks is told."""
        return Estimates(self.seed, self.error)

    def ordered(self, order: Order) -> EngineDecider:
        """Return the extender's own scheduler with an order."""
        return EngineDecider(replace(self.engine, order=order))


@dataclass(frozen=True)
class Policy:
    """A policy.

    Attributes:
        title: What it does, in a line.
        ours: Whether it is Shuntyard's: what it ships, or (``combined``) proposes.
        make: Makes it, fresh for each run.
    """

    title: str
    ours: bool
    make: Callable[[Setting], Decider]


POLICIES: Final[Mapping[str, Policy]] = {
    "cps": Policy("the extender, by the CPS value", True, lambda s: s.ordered(Order.CPS)),
    "creation": Policy("the extender, by creation", True, lambda s: s.ordered(Order.CREATION)),
    "weighting": Policy(
        "the extender, by DRS' weights", True, lambda s: s.ordered(Order.WEIGHTING)
    ),
    "drs": Policy("DRS with marginal gain", True, lambda s: Drs(s.estimates, engine=s.engine)),
    "oasis": Policy(
        "OASiS: admission and plans", True, lambda s: Oasis(Slotted(s.history), s.estimates)
    ),
    "specon": Policy("SpeCon, Algorithms 1 to 3", True, lambda _: SpeCon()),
    "combined": Policy(
        "all four together",
        True,
        lambda s: Combined(Slotted(s.history), s.estimates, s.combined),
    ),
    "count": Policy("count balancing", False, lambda _: CountBalancing()),
    "density": Policy("density greedy", False, lambda s: DensityGreedy(s.estimates)),
    "shortest": Policy("shortest remaining", False, lambda s: ShortestRemaining(s.estimates)),
    "tiresias": Policy("Tiresias, 2D-LAS", False, lambda _: Tiresias()),
    "optimus": Policy("Optimus", False, lambda s: Optimus(s.estimates)),
    "slaq": Policy("SLAQ-like", False, lambda s: SlaqLike(s.estimates)),
    "volcano": Policy("Volcano's order", False, lambda _: Volcano()),
    "spread": Policy("default kube-scheduler", False, lambda _: DefaultSpread()),
}
"""Name → policy; a name that is not in it is refused with this list."""

SPECIALISTS: Final = ("cps", "drs", "oasis", "specon")
"""The four papers."""
REFERENCES: Final = ("density", "shortest", "count")
"""What ``combined`` should not be dominated by."""
