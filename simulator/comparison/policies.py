"""The policies that can be compared, by name, with their constructors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from extender.core.parameters.combined import PUBLISHED, CoreParameters
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
from simulator.comparison.deciders.service import Service
from simulator.comparison.deciders.specon import SpeCon
from simulator.workload import Job


@dataclass(frozen=True)
class Setting:
    """Arguments of a policy's constructor.

    Attributes:
        seed: Of the errors of estimates.
        error: Size of these errors (``estimates``).
        history: Past jobs from training windows, for OASiS' price bounds.
        engine: Parameters from the extender's settings file.
        combined: Parameters of ``combined``.
    """

    seed: int
    error: float = 0.15
    history: Sequence[Job] = ()
    engine: CoreParameters = PUBLISHED
    combined: CombinedParameters = field(default_factory=CombinedParameters)

    @property
    def estimates(self) -> Estimates:
        """The estimates, the same for all policies."""
        return Estimates(self.seed, self.error)

    def ordered(self, order: Order) -> EngineDecider:
        """Return the extender's own scheduler with an order."""
        return EngineDecider(replace(self.engine, order=order))

    def service(self) -> Service:
        """Return the extender's own scheduler with the order `service` and its parkings."""
        preemption = replace(self.engine.preemption, enabled=True)
        engine = replace(self.engine, order=Order.SERVICE, preemption=preemption)
        return Service(EngineDecider(engine, rests=False), self.estimates)


@dataclass(frozen=True)
class Policy:
    """A policy.

    Attributes:
        title: One line about what it does.
        ours: Whether Shuntyard ships it or (``combined``) proposes it.
        make: Builds a new one for each run.
        misstated: Whether it reads the lengths that owners state: they have the errors of the
            estimates then.
    """

    title: str
    ours: bool
    make: Callable[[Setting], Decider]
    misstated: bool = False


POLICIES: Final[Mapping[str, Policy]] = {
    "cps": Policy("the extender, by the CPS value", True, lambda s: s.ordered(Order.CPS)),
    "creation": Policy("the extender, by creation", True, lambda s: s.ordered(Order.CREATION)),
    "weighting": Policy(
        "the extender, by DRS' weights", True, lambda s: s.ordered(Order.WEIGHTING)
    ),
    "service": Policy(
        "the extender, by remaining service, with parking",
        True,
        lambda s: s.service(),
        misstated=True,
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
"""Name → policy."""

SPECIALISTS: Final = ("cps", "drs", "oasis", "specon")
"""The four papers."""
REFERENCES: Final = ("density", "shortest", "count")
"""Policies that should not dominate ``combined``."""
