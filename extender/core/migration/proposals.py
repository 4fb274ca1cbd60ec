"""New migrations: their names, their first states, and their limits.

The limits, in the order of the checks: the unit's own moves and cooldown, open migrations in the
cluster and on its nodes, the gain of the move. Every proposed move counts for the next one. Each
job that is not moved gets a reason.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from extender.core.cluster import job_spec, job_views
from extender.core.cluster.commands import EmitEvent
from extender.core.cluster.owners import above
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.migration import job_speeds, migration_gain, move_unit
from extender.core.migration.commands import CreateMigration, MigrationCommand
from extender.core.migration.hosts import Hosts
from extender.core.migration.migration_gain import Gain
from extender.core.migration.migration_history import MigrationHistory
from extender.core.migration.move_unit import MoveRefusal, MoveUnit, MovingPods
from extender.core.parameters.migration import MigrationParameters
from extender.core.queue import running_jobs
from extender.core.records.migration_reasons import MigrationReason as R
from extender.core.records.migrations import TargetReservation
from shared.model import JobKey, Migration, MigrationMember, NodeName, Pod, Trigger, Uid
from shared.readapi import ledgers as api

LONGEST_STEM: Final = 244
"""A name has at most 253 characters, nine of them for the hash."""


_TRIGGER_TEXTS: Final = {
    Trigger.CONVERGED: "converged",
    Trigger.REBALANCE: "rebalancing",
    Trigger.COUNT: "count balancing",
}


def migration(
    snapshot: Snapshot, unit: MoveUnit, target: NodeName, trigger: Trigger, gain: Gain
) -> Migration:
    """Return the Migration of a unit to one target; it gets its uid when it is created."""
    namespace = unit.job.namespace
    return Migration(
        namespace=namespace,
        name=_name(snapshot, unit),
        uid=Uid(""),
        job=unit.key,
        owner=unit.owner,
        trigger=trigger,
        mover=unit.mover,
        why=f"{_TRIGGER_TEXTS[trigger]}: {gain.why}",
        gain_seconds=None if gain.gain_seconds is None else round(gain.gain_seconds, 3),
        cost_seconds=round(gain.cost_seconds, 3),
        members=tuple(
            MigrationMember(
                pod=member.pod.name,
                uid=member.pod.uid,
                source=member.node or NodeName(""),
                target=target,
                shape=unit.shapes[member.pod.uid],
                index=member.index,
                asked=member.pod.uid in unit.asked,
            )
            for member in unit.members
        ),
    )


def _name(snapshot: Snapshot, unit: MoveUnit) -> str:
    """Return the pod's or job's name with a hash of its pods; another hash if the name is taken.

    The same pods give the same name until the object exists, so that a creation whose answer was
    lost is not repeated under another name.
    """
    alone = len(unit.members) == 1
    stem = unit.lead.pod.name if alone else unit.job.about.name
    uids = "\n".join(sorted(member.pod.uid for member in unit.members))
    marks = (hashlib.sha256(f"{uids}\n{i}".encode()).hexdigest()[:8] for i in count())
    names = (f"{stem[:LONGEST_STEM].rstrip('-.')}-{mark}" for mark in marks)
    return next(n for n in names if f"{unit.job.namespace}/{n}" not in snapshot.migrations)


def remaining_seconds(session: Session, unit: MovingPods) -> float | None:
    """Return how long the job of these pods needs on its present nodes; None if unknown."""
    reported = [report.progress for report in unit.reports.values() if report.progress]
    spans = [progress.remaining_seconds for progress in reported if progress.remaining_seconds]
    left = max((span.value for span in spans), default=None)
    if left is not None:  # agents first: they measure the speed on these nodes
        return left
    return running_jobs.left_by_status(session.snapshot, unit.key, session.now)


MOST_EXAMINED: Final = 64
"""Containers that a rule examines in one pass: the limits allow far fewer moves, and a pass must
not block the event loop."""


@dataclass
class Proposals:
    """The proposals of one pass so far.

    Attributes:
        session: Inputs of the pass.
        history: Of the Migration objects.
        hosts: With the moves proposed so far.
        stayed: Pods that Algorithm 2 found best where they are, since when.
        declined: Why jobs are not moved.
        installed: Whether the Migration resource is installed.
        commands: The commands so far.
    """

    session: Session
    history: MigrationHistory
    hosts: Hosts
    stayed: dict[Uid, float]
    declined: dict[str, api.Declined]
    installed: bool = True
    commands: list[MigrationCommand] = field(default_factory=list)
    moving: set[Uid] = field(init=False)
    _open: int = field(init=False)
    _busy: Counter[NodeName] = field(init=False)
    _units: dict[Uid, MoveUnit | MoveRefusal] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.moving = set(self.history.moving)
        self._open = len(self.history.open)
        self._busy = Counter(self.history.busy)

    @property
    def snapshot(self) -> Snapshot:
        """The cluster."""
        return self.session.snapshot

    @property
    def reading(self) -> Reading:
        """When the pass began."""
        return self.session.reading

    @property
    def params(self) -> MigrationParameters:
        """The limits of migrations."""
        return self.session.parameters.migration

    def unit(self, uid: Uid) -> MoveUnit | MoveRefusal:
        """Return the unit of a pod, or why it cannot be moved."""
        if uid not in self._units:
            pod = self.hosts.containers[uid].pod
            job = job_views.view(self.snapshot, self.hosts.containers[uid].job)
            unit = move_unit.find_unit(self.session, job, pod)
            uids = [m.pod.uid for m in unit.members] if isinstance(unit, MoveUnit) else [uid]
            self._units.update(dict.fromkeys(uids, unit))
        return self._units[uid]

    def opted_in(self, pod: Pod) -> bool:
        """Return True if the pod's owner names a checkpoint directory."""
        return job_spec.may_be_moved(pod, above(self.snapshot, pod))

    def examined_at(self, job: JobKey) -> float:
        """Return when a job was last examined and not moved; 0.0 if never."""
        declined = self.declined.get(job)
        return declined.at if declined else 0.0

    def decline(self, job: JobKey, refusal: MoveRefusal) -> None:
        """Keep why a job is not moved."""
        self.declined[job] = api.Declined(
            job=job, reason=refusal.reason.value, message=refusal.message, at=self.reading.now
        )

    def allowed(self, unit: MoveUnit, trigger: Trigger) -> MoveRefusal | None:
        """Return why a unit may not move to any target; None if it may."""
        if not self._has_moves_left(unit, trigger):
            return MoveRefusal(R.MOVES_USED_UP)
        until = self.history.rests_until(unit, self.params)
        if self.reading.now < until:
            return MoveRefusal(R.COOLING_DOWN, f"for {until - self.reading.now:.0f} s more")
        if self._open >= self.params.most_open:
            return MoveRefusal(R.BUDGET_USED_UP)
        return None if self.installed else MoveRefusal(R.CRD_MISSING)

    def begin(self, unit: MoveUnit, target: NodeName, trigger: Trigger) -> MoveRefusal | None:
        """Propose a move, or return why it is not allowed now or not worth its cost."""
        nodes = {*unit.sources, target}
        if any(self._busy[node] >= self.params.most_open_per_node for node in nodes):
            return MoveRefusal(R.NODE_BUDGET_USED_UP)
        gain = self._gain(unit, [(target, shape) for shape in unit.shapes.values()])
        if not gain.worth_it:
            return MoveRefusal(R.GAIN_TOO_SMALL, gain.why)
        created = migration(self.snapshot, unit, target, trigger, gain)
        places = f"{', '.join(unit.sources)} to {target}"
        message = f"{places}: {created.why}"
        event = EmitEvent(created.namespace, unit.job.about, "Migrating", message, action="Migrate")
        self.commands.append(CreateMigration(created, event))
        self._count(unit, created, target)
        return None

    def _has_moves_left(self, unit: MoveUnit, trigger: Trigger) -> bool:
        moves, params = self.history.moves(unit), self.params
        if trigger is Trigger.COUNT:
            return sum(moves.values()) < params.count.most_moves
        if trigger is Trigger.REBALANCE:
            return moves.get(trigger, 0) < 1
        stays = params.target.stay_counts_as_move and unit.lead.pod.uid in self.stayed
        return moves.get(trigger, 0) + stays < params.most_moves_per_job

    def _gain(self, unit: MoveUnit, arriving: Sequence[TargetReservation]) -> Gain:
        now, then = job_speeds.shares(self.hosts, unit, arriving)
        return migration_gain.expected_gain(
            remaining_seconds(self.session, unit),
            now,
            then,
            self.history.cost_seconds(unit.reports.values()),
            self.params.gain,
        )

    def _count(self, unit: MoveUnit, created: Migration, target: NodeName) -> None:
        self._open += 1
        self._busy.update({*unit.sources, target})
        self.moving.update(member.uid for member in created.members)
        self.hosts = self.hosts.after(unit, target)
        self.declined.pop(unit.key, None)
