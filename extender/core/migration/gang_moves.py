"""Gangs that sit badly move as a whole, by parking them with their new places kept.

**Rule.** Examined are gangs that may be parked and could be faster elsewhere: those first that lose
most where they are. New places are searched for on all hosts, and with so few pods on each that
all would be faster, or as fast as they can be. A move is proposed if it pays for the gang
(``migration_gain``) and the cluster gains: the sum over all jobs of pods times the logarithm of
their share grows. As that sum grows with each move, moves come to an end.

One gang moves for each search, the one with which the cluster gains most. The limits of parking
hold: least run, rest, and number in an hour.

Source:
    Ours; docs/policies/migration_gain.md.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

import numpy as np

from extender.core.cluster import job_views, pod_shape
from extender.core.cluster.job_spec import Preemptible
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.session import Session
from extender.core.migration import hosts as all_hosts
from extender.core.migration import job_speeds, migration_gain, migration_history
from extender.core.migration.hosts import Hosts
from extender.core.migration.migration_gain import Gain
from extender.core.migration.migration_history import MigrationHistory
from extender.core.migration.move_unit import ENDED, MovingPods
from extender.core.migration.proposals import remaining_seconds
from extender.core.nodes.leaving import without_leaving, without_nodes
from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.migration import MigrationPolicy
from extender.core.queue import parked
from extender.core.records import parking
from extender.core.records.migrations import TargetReservation
from extender.core.records.parking import Cause, MayLeave, ParkingProposal, Propose
from shared.model import PODS, JobKey, NodeName, Owner, Uid

T = TypeVar("T")

MOST_EXAMINED: Final = 4
"""Gangs for which a search plans, up to three times each."""

MOST_VIEWED: Final = 256
"""Jobs of several pods that a search looks at: it must not block the event loop."""

MOST_ASKED: Final = 64
"""Gangs of which a search finds out whether they may leave."""

_LEAST: Final = 1e-9
"""Smaller changes are rounding."""

_GOLDEN_RATIO: Final = (math.sqrt(5.0) - 1.0) / 2.0
"""Parts of its multiples are spread evenly, whatever the time between two searches."""

_LEAST_RATIO: Final = 1e-6
"""By so much more a share is larger."""


@dataclass(frozen=True)
class GangMove:
    """A gang, its new places, and what that brings.

    Attributes:
        job: The gang.
        places: Of the pods of ``parked_jobs.moving``.
        gain: Of the gang.
        change: Of the sum over all jobs; above 0.
    """

    job: JobKey
    places: tuple[tuple[Uid, NodeName], ...]
    gain: Gain
    change: float

    @property
    def proposal(self) -> ParkingProposal:
        """To park it and let it go on there."""
        nodes = ", ".join(sorted({node for _, node in self.places}))
        why = f"it trains faster on {nodes}: {self.gain.why}"
        return ParkingProposal((self.job,), Cause.MOVE, why=why, places=self.places)


def proposing(may_leave: MayLeave) -> Propose:
    """Return what proposes the moves of gangs that may leave."""

    def proposals(session: Session) -> tuple[ParkingProposal, ...]:
        move = best_move(session, may_leave)
        return () if move is None else (move.proposal,)

    return proposals


def best_move(session: Session, may_leave: MayLeave) -> GangMove | None:
    """Return the move by which the cluster gains most; None if none may be made or pays."""
    params = session.parameters.migration
    if not params.gangs or params.policy is MigrationPolicy.NONE:
        return None
    history = migration_history.read_history(session.snapshot)
    if len(history.open) + _open_moves(session) >= params.most_open:
        return None
    hosts = all_hosts.read_hosts(session, history)
    search = _Search(session, history, hosts)
    moves = [move for gang in search.worst_first(may_leave) for move in search.moves(gang)]
    return max(moves, key=lambda move: (move.change, move.job), default=None)


def _open_moves(session: Session) -> int:
    records = parking.parking_records(session.snapshot)
    return sum(owned.parking.cause is Cause.MOVE for owned in records.open)


@dataclass(frozen=True)
class _Gang:
    pods: MovingPods
    owner: Owner


@dataclass(frozen=True)
class _Search:
    """One search; ``hosts`` with everything that moves already."""

    session: Session
    history: MigrationHistory
    hosts: Hosts

    def worst_first(self, may_leave: MayLeave) -> Sequence[_Gang]:
        """Return the gangs to examine: those that may leave, and first those that lose most.

        Where there are more, another one is the first at each time, so that all have their turn.
        """
        losses = [(self._loss(gang), gang) for gang in self._gangs()]
        losses = sorted((one for one in losses if one[0] > _LEAST), key=_most_first)
        losses = self._in_turn(losses, MOST_EXAMINED)
        able = (gang for _, gang in losses[:MOST_ASKED] if self._may_leave(gang, may_leave))
        return tuple(islice(able, MOST_EXAMINED))

    def _in_turn(self, some: list[T], most: int) -> list[T]:
        """Return some as they are if there are at most so many; else from another one on."""
        first = int(self.session.now * _GOLDEN_RATIO % 1.0 * len(some))
        return some if len(some) <= most else some[first:] + some[:first]

    def _may_leave(self, gang: _Gang, may_leave: MayLeave) -> bool:
        job = gang.pods.job
        return may_leave(self.session, job, ParkingProposal((job.key,), Cause.MOVE))

    def moves(self, gang: _Gang) -> Iterator[GangMove]:
        """Yield the moves of one gang that pay."""
        table = without_leaving(self.hosts.node_table, self.session.parameters.drain)
        known = without_nodes(table, (n for n in table.index if n not in self.hosts.reports))
        for free in self._tables(gang, known):
            found = parked.places_beside(self.session, gang.pods.job, gang.owner.uid, free)
            if found is not None:
                places = tuple((member.pod.uid, node) for member, node in found)
                arriving = [(node, member.shape) for member, node in found]
                move = self._valued(gang, places, arriving)
                if move is not None:
                    yield move

    def _tables(self, gang: _Gang, known: NodeTable) -> Iterator[NodeTable]:
        """Yield the nodes: all, and as many places of each as make the gang faster or fastest."""
        yield known
        now, _ = job_speeds.shares(self.hosts, gang.pods, ())
        for least in (now * (1.0 + _LEAST_RATIO), job_speeds.best_share(self.hosts, gang.pods)):
            most = job_speeds.most_pods(self.hosts, gang.pods, least)
            if most:
                yield _with_most_pods(known, most)

    def _valued(
        self,
        gang: _Gang,
        places: tuple[tuple[Uid, NodeName], ...],
        arriving: Sequence[TargetReservation],
    ) -> GangMove | None:
        pods = gang.pods
        now, then = job_speeds.shares(self.hosts, pods, arriving)
        if not 0 < now < then:
            return None
        left = remaining_seconds(self.session, pods)
        gain = migration_gain.expected_gain(
            left, now, then, self._cost_seconds(pods), self.session.parameters.migration.gain
        )
        others = job_speeds.change_for_others(self.hosts, pods, arriving)
        change = len(pods.members) * math.log(then / now) + others
        pays = gain.worth_it and change > _LEAST
        return GangMove(pods.key, places, gain, change) if pays else None

    def _cost_seconds(self, pods: MovingPods) -> float:
        """Return the pause of a move: the save, and the restart as last measured or as stated."""
        owned = parking.of_job(self.session.snapshot, pods.key)
        restart = None if owned is None else owned.parking.cost.last_restart_seconds
        measured = self.history.cost_seconds(pods.reports.values())
        if restart is None and measured is not None:
            return measured
        checkpoints = (report.checkpoint for report in pods.reports.values())
        saves = (one.save_seconds for one in checkpoints if one is not None)
        save = max((seconds for seconds in saves if seconds is not None), default=0.0)
        if restart is None:
            restart = self.session.parameters.preemption.restart_seconds
        return save + restart

    def _loss(self, gang: _Gang) -> float:
        """Return what a gang could gain at most, as the cluster's gain is counted."""
        now, _ = job_speeds.shares(self.hosts, gang.pods, ())
        best = job_speeds.best_share(self.hosts, gang.pods)
        return len(gang.pods.members) * math.log(best / now) if best > now > 0 else 0.0

    def _gangs(self) -> Iterator[_Gang]:
        """Yield the gangs of which all pods run, and which may be moved after a checkpoint."""
        snapshot = self.session.snapshot
        several = sorted(key for key, pods in self.hosts.by_job.items() if len(pods) > 1)
        for key in self._in_turn(several, MOST_VIEWED)[:MOST_VIEWED]:
            job = job_views.view(snapshot, key)
            gang = self._gang(job) if _may_move(job) else None
            if gang is not None:
                yield gang

    def _gang(self, job: Job) -> _Gang | None:
        snapshot = self.session.snapshot
        members = tuple(member for member in job.members if member.state not in ENDED)
        if any(m.state is not State.BOUND or m.node not in self.hosts.reports for m in members):
            return None
        owner = parking.pausing_owner(snapshot, [member.pod for member in members])
        if owner is None:
            return None
        found = {m.pod.uid: self.session.pod_report(m.pod.uid) for m in members}
        return _Gang(
            MovingPods(
                job=job,
                members=members,
                shapes={m.pod.uid: pod_shape.own_shape(snapshot, m.pod) for m in members},
                reports={uid: report for uid, report in found.items() if report is not None},
            ),
            owner,
        )


def _most_first(one: tuple[float, _Gang]) -> tuple[float, JobKey]:
    loss, gang = one
    return (-loss, gang.pods.key)


def _with_most_pods(table: NodeTable, most: Mapping[NodeName, int]) -> NodeTable:
    """Return the table with room for no more than so many pods on these nodes."""
    used, column = table.used.copy(), table.resources.index(PODS)
    rows = [table.index[node] for node in most]
    allocatable = table.allocatable[rows, column]
    used[rows, column] = np.maximum(used[rows, column], allocatable - np.array([*most.values()]))
    return table.replaced(used=used, ports=table.ports)


def _may_move(job: Job) -> bool:
    whole = job.min_available is not None and job.min_available > 1 and not job.problem
    spec = job.spec
    return whole and spec.has_checkpoint and spec.preemptible is Preemptible.CHECKPOINT
