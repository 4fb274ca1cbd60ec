"""What moves and weighs tasks: SpeCon's Algorithms 1 to 3, count balancing, CPU weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from extender.core.cpu_shares import cpu_weights
from extender.core.cpu_shares.cpu_weights import Sharer
from extender.core.migration import count_balance, migration_target, rebalance
from extender.core.migration.count_balance import Resident
from extender.core.migration.migration_target import Host, counted
from extender.core.migration.rebalance import Movable
from extender.core.parameters.cpu_shares import CpuShareParameters
from extender.core.parameters.migration import CountParameters, MigrationParameters
from shared.convergence import categories
from shared.convergence.categories import ConvergenceState
from shared.convergence.parameters import ConvergenceParameters
from shared.model import NodeName, Uid
from shared.progress import Category, Goal
from simulator.models.fluid import Fluid
from simulator.models.fluid_tasks import Running


class Monitor:
    """SpeCon's Algorithm 1: categories of all tasks.

    A settled task keeps its category, as in the paper: Algorithm 1 only watches tasks that were not
    migrated.

    Attributes:
        requesting: Tasks that request another host at this tick, by time of convergence.
        settled: Tasks that are no longer watched; rules add to it.
    """

    def __init__(self, params: ConvergenceParameters, *, request_on_enter: bool) -> None:
        self.requesting: list[Uid] = []
        self.settled: set[Uid] = set()
        self._params = params
        self._on_enter = request_on_enter
        self._standings: dict[Uid, ConvergenceState] = {}
        self._seen: dict[Uid, int] = {}

    def category(self, uid: Uid) -> Category:
        """Return a task's category; a new task is progressing."""
        return self._standings.get(uid, ConvergenceState()).category

    def converged_at(self, uid: Uid) -> float | None:
        """Return when a task converged; None if it has not."""
        return self._standings.get(uid, ConvergenceState()).converged_at

    def act(self, fluid: Fluid, *, ticked: bool) -> None:
        """Tick every running task."""
        if not ticked:
            return
        requesting: list[tuple[float, Uid]] = []
        for uid, running in fluid.running.items():
            if uid not in self.settled and not fluid.is_pausing(running):
                at = self._tick(fluid, uid, running)
                if at is not None:
                    requesting.append((at, uid))
        self.requesting = [uid for _, uid in sorted(requesting)]

    def _tick(self, fluid: Fluid, uid: Uid, running: Running) -> float | None:
        """Return when a task converged if it requests a move: converged, with falling growth."""
        before = self._standings.get(uid, ConvergenceState())
        iteration = fluid.iteration(running)
        value = running.task.reported[iteration - 1] if iteration > self._seen.get(uid, 0) else None
        self._seen[uid] = iteration
        after = categories.tick(before, value, now=fluid.now, goal=Goal.MIN, params=self._params)
        self._standings[uid] = after
        counted = value is not None or self._params.count_silent_ticks
        falls = after.growth < self._params.alpha and after.growth < after.previous_growth
        may_request = self._on_enter or before.category is Category.CONVERGED
        if after.category is Category.CONVERGED and counted and falls and may_request:
            return after.converged_at
        return None


@dataclass
class Tally:
    """Counts of the actions of one run.

    Attributes:
        requests: Requests to Algorithm 2.
        moves: Moves by Algorithm 2.
        stays: Requests that Algorithm 2 answered with no move.
        balances: Moves by Algorithm 3 or by count balancing.
    """

    requests: int = 0
    moves: int = 0
    stays: int = 0
    balances: int = 0


def anywhere(_uid: Uid, _host: NodeName) -> bool:
    """Return True: the paper's containers request nothing, so they fit every host."""
    return True


class Specon:
    """Algorithm 2 for every request of a tick, then Algorithm 3.

    Neither budgets nor a test of the gain limits the moves.
    """

    def __init__(self, params: MigrationParameters, monitor: Monitor, tally: Tally) -> None:
        self._params = params
        self._monitor = monitor
        self._tally = tally
        self._moved_at: dict[Uid, float] = {}
        """When Algorithm 2 moved a task."""
        self._settled_at: dict[Uid, float] = {}
        """When a task used its one move, which may be a stay."""
        self._rebalanced: set[Uid] = set()

    def act(self, fluid: Fluid, *, ticked: bool) -> None:
        """Run both algorithms at ticks."""
        if not ticked:
            return
        for uid in self._monitor.requesting:
            self._request(fluid, uid)
        self._rebalance(fluid)

    def _request(self, fluid: Fluid, uid: Uid) -> None:
        source = fluid.running[uid].host
        fast = [r for r in fluid.on(source) if self._category(r) is not Category.CONVERGED]
        if len(fast) < self._params.min_fast_peers:
            return
        self._tally.requests += 1
        hosts = [self._compared(fluid, host) for host in fluid.counts()]
        params = self._params.target
        target = migration_target.choose(source, Category.CONVERGED, hosts, params)
        if target is not None:
            self._tally.moves += 1
            self._moved_at[uid] = fluid.now
            fluid.move(uid, target)
        else:
            self._tally.stays += 1
        if target is not None or params.stay_counts_as_move:
            self._settled_at[uid] = fluid.now
            self._monitor.settled.add(uid)

    def _compared(self, fluid: Fluid, host: NodeName) -> Host:
        residents = [(self._category(r), r.task.uid in self._moved_at) for r in fluid.on(host)]
        return counted(Host(host, use_ratio=fluid.use_ratio(host)), residents, self._params.target)

    def _rebalance(self, fluid: Fluid) -> None:
        movable = [
            Movable(uid, fluid.running[uid].host, self._converged_at(uid, at))
            for uid, at in self._settled_at.items()
            if uid in fluid.running
            and uid not in self._rebalanced
            and not fluid.is_pausing(fluid.running[uid])
        ]
        if not movable:
            return
        counts = fluid.counts()
        planned = rebalance.plan(
            counts,
            movable,
            anywhere,
            self._params.rebalance,
            all_converged=all(
                self._category(r) is Category.CONVERGED for r in fluid.running.values()
            ),
            use_ratio={host: fluid.use_ratio(host) for host in counts},
        )
        for move in planned:
            self._tally.balances += 1
            self._rebalanced.add(move.uid)
            fluid.move(move.uid, move.target)

    def _category(self, running: Running) -> Category:
        return self._monitor.category(running.task.uid)

    def _converged_at(self, uid: Uid, otherwise: float) -> float:
        at = self._monitor.converged_at(uid)
        return otherwise if at is None else at


class Counting:
    """Count balancing at every arrival, end and tick, or at ticks only."""

    def __init__(self, params: CountParameters, tally: Tally, *, ticks_only: bool) -> None:
        self._params = params
        self._tally = tally
        self._ticks_only = ticks_only

    def act(self, fluid: Fluid, *, ticked: bool) -> None:
        """Balance the counts."""
        counts = fluid.counts()
        apart = max(counts.values()) - min(counts.values())
        if apart < self._params.difference or (self._ticks_only and not ticked):
            return
        residents = [
            Resident(uid, r.host, r.since, r.moves)
            for uid, r in fluid.running.items()
            if not fluid.is_pausing(r)
        ]
        planned = count_balance.plan(counts, residents, anywhere, self._params, now=fluid.now)
        for move in planned:
            self._tally.balances += 1
            fluid.move(move.uid, move.target)


GIVEN_MILLI: Final = 1000
"""CPU request of every task; only its ratio to the policy's floor matters."""


class Weighing:
    """CPU requests as kernel weights, by remaining work that is known with an error."""

    def __init__(self, params: CpuShareParameters, monitor: Monitor) -> None:
        self._params = params
        self._monitor = monitor

    def weights(self, fluid: Fluid, tasks: Sequence[Running]) -> Sequence[float]:
        """Return the requests in milli-CPU."""
        sharers = [self._sharer(fluid, running) for running in tasks]
        requests = cpu_weights.requests(sharers, self._params)
        return [float(requests[sharer.uid]) for sharer in sharers]

    def _sharer(self, fluid: Fluid, running: Running) -> Sharer:
        task = running.task
        left = (task.work - fluid.done(running)) * task.estimate_ratio
        converged = self._monitor.category(task.uid) is Category.CONVERGED
        return Sharer(task.uid, GIVEN_MILLI, left, converged)
