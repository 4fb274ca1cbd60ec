"""Count balancing: equal numbers of containers on all hosts, whatever their loss."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.policy import count_balance
from extender.policy.count_balance import CountParameters, Resident
from shared.model import Uid
from simulator.baselines.seats import Seats
from simulator.baselines.spread import start_all
from simulator.cluster.actions import Action, Move
from simulator.cluster.decider import next_tick
from simulator.cluster.view import View
from simulator.comparison.deciders.containers import Hosts

TICK_SECONDS: Final = 30.0


@dataclass
class Balancer:
    """The moves of count balancing, and the book it needs.

    Attributes:
        parameters: Of ``policy.count_balance``.
    """

    parameters: CountParameters = field(default_factory=CountParameters)
    _moves: dict[str, int] = field(default_factory=dict)
    _since: dict[str, float] = field(default_factory=dict)

    def moves(
        self, view: View, hosts: Hosts, worth_it: Collection[str] | None = None
    ) -> list[Move]:
        """Return the moves of now; ``worth_it``: who may move at all, None: everybody."""
        for name in hosts.on:
            self._since.setdefault(name, view.now)
        residents = [
            Resident(Uid(name), host, self._since[name], self._moves.get(name, 0))
            for name, host in sorted(hosts.on.items())
            if hosts.jobs[name].placement is not None and (worth_it is None or name in worth_it)
        ]
        plan = count_balance.plan(
            hosts.counts(), residents, hosts.fits, self.parameters, now=view.now
        )
        moves = hosts.moves(plan)
        for move in moves:
            self._moves[move.job] = self._moves.get(move.job, 0) + 1
            self._since[move.job] = view.now
        return moves


@dataclass
class CountBalancing:
    """Gangs in the order of creation where least is allocated, and count balancing."""

    balancer: Balancer = field(default_factory=Balancer)
    oracle: Final = False

    def decide(self, view: View) -> Sequence[Action]:
        """Start what fits, then even out."""
        starts = start_all(Seats(view.snapshot.room), view.waiting)
        return [*starts, *self.balancer.moves(view, Hosts.of(view, starts))]

    def wakes_at(self, now: float) -> float | None:
        """Every 30 seconds, as in the model runs."""
        return next_tick(now, TICK_SECONDS)
