"""CPU weights by remaining work or category, by the extender's policy."""

from collections.abc import Sequence
from typing import Final

from extender.policy import cpu_weights
from extender.policy.cpu_weights import Sharer, WeightParameters
from shared.progress import Category
from simulator.experiments.specon.monitor import Monitor
from simulator.models.fluid import Fluid, Running

GIVEN_MILLI: Final = 1000
"""CPU request of every task; only its ratio to the policy's floor matters."""


class Weighing:
    """CPU requests as the kernel's weights; the remaining work is known with an error."""

    def __init__(self, params: WeightParameters, monitor: Monitor) -> None:
        self._params = params
        self._monitor = monitor

    def weights(self, fluid: Fluid, here: Sequence[Running]) -> Sequence[float]:
        """Return the requests in milli-CPU."""
        sharers = [self._sharer(fluid, running) for running in here]
        found = cpu_weights.requests(sharers, self._params)
        return [float(found[sharer.uid]) for sharer in sharers]

    def _sharer(self, fluid: Fluid, running: Running) -> Sharer:
        task = running.task
        left = (task.work - fluid.done(running)) * task.estimate_ratio
        converged = self._monitor.category(task.uid) is Category.CONVERGED
        return Sharer(task.uid, GIVEN_MILLI, left, converged)
