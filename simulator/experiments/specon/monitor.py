"""The worker's container monitor: SpeCon's Algorithm 1 for every running task."""

from shared.convergence import categories
from shared.convergence.categories import Standing
from shared.convergence.parameters import ConvergenceParameters
from shared.model import Uid
from shared.progress import Category, Goal
from simulator.models.fluid import Fluid, Running


class Monitor:
    """Categories of all tasks, after the ticks so far.

    A task that settled keeps the category it has, as in the paper: Algorithm 1 looks only at those
    that were not migrated.

    Attributes:
        asking: Tasks that asked for another host at this tick, those first that converged first.
        settled: Tasks that are looked at no more; rules write it.
    """

    def __init__(self, params: ConvergenceParameters, *, request_on_enter: bool) -> None:
        self.asking: list[Uid] = []
        self.settled: set[Uid] = set()
        self._params = params
        self._on_enter = request_on_enter
        self._standings: dict[Uid, Standing] = {}
        self._seen: dict[Uid, int] = {}

    def category(self, uid: Uid) -> Category:
        """Return a task's category; a new one progresses."""
        return self._standings.get(uid, Standing()).category

    def converged_at(self, uid: Uid) -> float | None:
        """Return when a task became converged; None if it is not."""
        return self._standings.get(uid, Standing()).converged_at

    def look(self, fluid: Fluid, *, ticked: bool) -> None:
        """Tick every task that runs."""
        if not ticked:
            return
        asking: list[tuple[float, Uid]] = []
        for uid, running in fluid.running.items():
            if uid not in self.settled and not fluid.is_pausing(running):
                at = self._tick(fluid, uid, running)
                if at is not None:
                    asking.append((at, uid))
        self.asking = [uid for _, uid in sorted(asking)]

    def _tick(self, fluid: Fluid, uid: Uid, running: Running) -> float | None:
        """Return when it converged if it asks: it is converged, or was, and falls further."""
        before = self._standings.get(uid, Standing())
        iteration = fluid.iteration(running)
        value = running.task.reported[iteration - 1] if iteration > self._seen.get(uid, 0) else None
        self._seen[uid] = iteration
        after = categories.tick(before, value, now=fluid.now, goal=Goal.MIN, params=self._params)
        self._standings[uid] = after
        counted = value is not None or self._params.count_silent_ticks
        falls = after.growth < self._params.alpha and after.growth < after.previous_growth
        known = self._on_enter or before.category is Category.CONVERGED
        if after.category is Category.CONVERGED and counted and falls and known:
            return after.converged_at
        return None
