"""SpeCon: converged containers move away, and emptied hosts are filled (Algorithms 1 to 3)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.core.migration import migration_target, rebalance
from extender.core.migration.migration_target import Host
from extender.core.migration.rebalance import Movable
from extender.core.migration.rebalance import Move as Planned
from extender.core.parameters.migration import MigrationParameters
from shared.convergence import categories
from shared.convergence.categories import ConvergenceState
from shared.convergence.parameters import ConvergenceParameters
from shared.model import Uid
from shared.progress import Category, Goal
from simulator.baselines.free_nodes import FreeNodes
from simulator.baselines.kubernetes import start_all
from simulator.cluster.actions import Action, Move
from simulator.cluster.decider import View, next_tick
from simulator.comparison.deciders.count_balancing import Hosts


@dataclass
class Speculation:
    """Moves of SpeCon, with the state it keeps.

    Attributes:
        convergence: Of Algorithm 1.
        parameters: Of Algorithms 2 and 3.
    """

    convergence: ConvergenceParameters = field(default_factory=ConvergenceParameters)
    parameters: MigrationParameters = field(default_factory=MigrationParameters)
    _standings: dict[str, ConvergenceState] = field(default_factory=dict)
    _moved_at: dict[str, float] = field(default_factory=dict)
    _settled: set[str] = field(default_factory=set)

    def moves(self, view: View, hosts: Hosts) -> list[Move]:
        """Tick the containers that are due, then return the moves."""
        self._tick(view, hosts)
        moves: list[Move] = []
        for name in sorted(hosts.on):
            if self._category(name) is Category.CONVERGED and name not in self._settled:
                moves += self._leave(name, hosts, view.now)
        return moves + self._rebalanced(hosts)

    def _tick(self, view: View, hosts: Hosts) -> None:
        for name in hosts.on:
            standing = self._standings.setdefault(name, ConvergenceState())
            job = view.job(name)
            if job is not None and categories.due(standing, view.now, self.convergence):
                self._standings[name] = categories.tick(
                    standing, job.loss, now=view.now, goal=Goal.MIN, params=self.convergence
                )

    def _category(self, name: str) -> Category:
        return self._standings.get(name, ConvergenceState()).category

    def _leave(self, name: str, hosts: Hosts, now: float) -> list[Move]:
        source = hosts.on[name]
        peers = [self._category(n) for n, host in hosts.on.items() if host == source and n != name]
        fast = sum(category is not Category.CONVERGED for category in peers)
        if fast < self.parameters.min_fast_peers:
            return []
        target = migration_target.choose(
            source, Category.CONVERGED, self._hosts(name, hosts), self.parameters.target
        )
        if target is None:
            if self.parameters.target.stay_counts_as_move:
                self._settled.add(name)
            return []
        moves = hosts.moves([Planned(Uid(name), source, target)])
        if moves:
            self._settled.add(name)
            self._moved_at[name] = now
        return moves

    def _hosts(self, name: str, hosts: Hosts) -> list[Host]:
        return [
            migration_target.counted(
                Host(host, fits=hosts.fits(Uid(name), host)),
                [
                    (self._category(n), n in self._moved_at)
                    for n, at in hosts.on.items()
                    if at == host
                ],
                self.parameters.target,
            )
            for host in hosts.names
        ]

    def _rebalanced(self, hosts: Hosts) -> list[Move]:
        movable = [
            Movable(Uid(name), hosts.on[name], self._converged_at(name, at))
            for name, at in sorted(self._moved_at.items())
            if name in hosts.on
        ]
        all_categories = [self._category(name) for name in hosts.on]
        plan = rebalance.plan(
            hosts.counts(),
            movable,
            hosts.fits,
            self.parameters.rebalance,
            all_converged=all(category is Category.CONVERGED for category in all_categories),
        )
        moves = hosts.moves(plan)
        for move in moves:
            del self._moved_at[move.job]  # a container is moved and rebalanced only once
        return moves

    def _converged_at(self, name: str, moved_at: float) -> float:
        converged_at = self._standings[name].converged_at
        return moved_at if converged_at is None else converged_at


@dataclass
class SpeCon:
    """Start gangs in order of creation where least is allocated, and move containers by SpeCon."""

    speculation: Speculation = field(default_factory=Speculation)
    oracle: Final = False

    def decide(self, view: View) -> Sequence[Action]:
        """Start what fits, then move."""
        starts = start_all(FreeNodes(view.snapshot.node_table), view.waiting)
        return [*starts, *self.speculation.moves(view, Hosts.of_view(view, starts))]

    def wakes_at(self, now: float) -> float | None:
        """Return the next interval of Algorithm 1."""
        return next_tick(now, self.speculation.convergence.interval_seconds)
