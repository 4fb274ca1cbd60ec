"""Containers that share the CPU of their hosts, and count balancing: equal numbers on all hosts."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.core.migration import count_balance
from extender.core.migration.count_balance import Resident
from extender.core.migration.rebalance import Move as Planned
from extender.core.parameters.migration import CountParameters
from shared.model import NodeName, Uid
from simulator.baselines.free_nodes import FreeNodes, is_single_cpu_pod, shape_of
from simulator.baselines.kubernetes import start_all
from simulator.baselines.reconcile import placement_of
from simulator.cluster.actions import WORKER, Action, Move, Placement, Preempt, Scale, Start
from simulator.cluster.decider import JobView, View, next_tick


def shares_cpu(job: JobView) -> bool:
    """Return True if a job is a container that SpeCon and count balancing may move.

    That is a job of one worker without a device that writes checkpoints on request; neither rule
    considers what a gang gains by moving one of its pods.
    """
    return job.spec.movable and is_single_cpu_pod(job.spec)


@dataclass
class Hosts:
    """The containers in one decision, and the hosts that could hold one of them when empty.

    Attributes:
        jobs: Containers by name.
        on: Host of each container.
        names: The hosts, in name order.
    """

    jobs: dict[str, JobView]
    on: dict[str, NodeName]
    names: tuple[NodeName, ...]
    free: FreeNodes

    @classmethod
    def of_view(cls, view: View, before: Iterable[Action] = ()) -> "Hosts":
        """Return the running and just started containers, after the actions ``before``."""
        free = FreeNodes(view.snapshot.node_table)
        jobs = {job.name: job for job in view.running if shares_cpu(job)}
        on = {name: placement_of(job).workers[0] for name, job in jobs.items()}
        for action in before:
            job = view.job(action.job)
            if job is None:
                continue
            if isinstance(action, Preempt | Scale):
                free.give(job.spec, placement_of(job))
            if isinstance(action, Start | Scale):
                free.take(job.spec, action.placement)
            if isinstance(action, Start) and shares_cpu(job):
                jobs[job.name], on[job.name] = job, action.placement.workers[0]
        holds = {m.name for j in jobs.values() for m in view.machines if _holds(m.allocatable, j)}
        return cls(jobs, on, tuple(NodeName(name) for name in sorted(holds)), free)

    def counts(self) -> dict[NodeName, int]:
        """Return the number of containers by host."""
        counts = dict.fromkeys(self.names, 0)
        for host in self.on.values():
            counts[host] = counts.get(host, 0) + 1
        return counts

    def fits(self, uid: Uid, node: NodeName) -> bool:
        """Return True if a container fits on a host."""
        index = self.free.node_table.index.get(node)
        shape = shape_of(self.jobs[uid].spec, WORKER)
        return index is not None and bool(self.free.node_table.feasible(shape)[index])

    def moves(self, plan: Sequence[Planned]) -> list[Move]:
        """Return the moves of a plan that fit, one after the other."""
        done = []
        for move in plan:
            if not self.fits(move.uid, move.target):
                continue
            job = self.jobs[move.uid]
            self.free.give(job.spec, Placement((self.on[job.name],)))
            self.free.take(job.spec, Placement((move.target,)))
            self.on[job.name] = move.target
            done.append(Move(job.name, WORKER, 0, move.target))
        return done


def _holds(has: Mapping[str, int], job: JobView) -> bool:
    return all(has.get(name, 0) >= amount for name, amount in job.spec.worker.items())


TICK_SECONDS: Final = 30.0


@dataclass
class Balancer:
    """Moves of count balancing, with the state it keeps.

    Attributes:
        parameters: Of count balancing.
    """

    parameters: CountParameters = field(default_factory=CountParameters)
    _moves: dict[str, int] = field(default_factory=dict)
    _since: dict[str, float] = field(default_factory=dict)

    def moves(
        self, view: View, hosts: Hosts, worth_it: Collection[str] | None = None
    ) -> list[Move]:
        """Return the moves; only jobs in ``worth_it`` may move (None: all)."""
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
    """Start gangs in order of creation where least is allocated, and balance container counts."""

    balancer: Balancer = field(default_factory=Balancer)
    oracle: Final = False

    def decide(self, view: View) -> Sequence[Action]:
        """Start what fits, then balance."""
        starts = start_all(FreeNodes(view.snapshot.node_table), view.waiting)
        return [*starts, *self.balancer.moves(view, Hosts.of_view(view, starts))]

    def wakes_at(self, now: float) -> float | None:
        """Return the next tick, every 30 seconds as in the model runs."""
        return next_tick(now, TICK_SECONDS)
