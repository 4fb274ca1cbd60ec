"""Attempts to place the waiting jobs of one pass: whether a job may start, where, and its plan.

A job that backs off is not tried. Members that move wait, then go where their migration puts them.
Other jobs get what their namespace may hold (``namespace_shares``), in the part of the nodes that
the gate of slot plans leaves to jobs of their sort (``slot_gate``).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from typing_extensions import override

from extender.core.cluster import replacements
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Backoff, Session
from extender.core.cluster.unfenced_copies import unfenced_copies
from extender.core.nodes.node_table import NodeTable
from extender.core.placement import planner
from extender.core.placement.planner import Plan, Refusal
from extender.core.queue import running_jobs, slot_gate
from extender.core.queue.backfill import RunningJob
from extender.core.queue.namespace_shares import Shares
from extender.core.queue.scheduling_pass import Attempts
from extender.core.queue.slot_gate import Gate, Part
from extender.core.queue.state import QueueState
from extender.core.records import migrations
from extender.core.records.migrations import NO_REPLACEMENTS, Replacements
from shared.model import JobKey, Node


@dataclass(frozen=True, kw_only=True)
class PassAttempts(Attempts):
    """Attempts on the snapshot of one pass.

    Attributes:
        session: Of the pass.
        state: What the last pass left.
        whole: Jobs whose gang is whole, or was and has members left.
        backoff: Jobs that are not tried for a while.
        moved: Members that take the place of others that move, by job.
        shares: What namespaces hold.
        gate: The gate of slot plans; None where jobs are not admitted by price.
    """

    session: Session
    state: QueueState
    whole: Collection[JobKey]
    backoff: Mapping[JobKey, Backoff]
    moved: Mapping[JobKey, Replacements]
    shares: Shares
    gate: Gate | None

    @override
    def plan(self, job: Job, value: float, table: NodeTable) -> Plan | Refusal:
        backoff = self.backoff.get(job.key)
        if backoff and self.session.monotonic < backoff.until:
            return Refusal.of(Reason.BACKING_OFF)
        if unfenced_copies(self.session, job):
            return Refusal.of(Reason.NODE_NOT_FENCED)
        moved = self.moved.get(job.key, NO_REPLACEMENTS)
        held = migrations.with_held(job, moved.held)
        if moved.targets:
            part = Part(held, migrations.without_reservations(table, moved.reserved), moved.targets)
            result = self._plan(part, value, planner.MIGRATION)
        else:
            within = self.shares.within(held)
            if isinstance(within, Refusal):
                return within
            result = self._plan_in_part(within, value, table)
        return self._explained(result, job, moved) if isinstance(result, Refusal) else result

    @override
    def project(self, job: Job, value: float, table: NodeTable) -> Plan | Refusal:
        part = Part(job, table) if self.gate is None else self.gate.part(job, table)
        if isinstance(part, Refusal):
            return part
        whole = job.key in self.whole
        result = planner.plan(
            part.job,
            part.table,
            self.session.parameters,
            value,
            was_whole=whole,
            targets=part.targets,
        )
        if isinstance(result, Refusal) or self.gate is None:
            return result
        return slot_gate.on_all_nodes(result, part.table, table)

    @override
    def running_jobs(self) -> tuple[RunningJob, ...]:
        return tuple(ending.job for ending in running_jobs.running(self.session, self.state))

    @override
    def lasts(self, job: Job, nodes: Iterable[Node] | None = None) -> float | None:
        return running_jobs.lasts(job, self.session, self.state, nodes)

    def _plan_in_part(self, job: Job, value: float, table: NodeTable) -> Plan | Refusal:
        """Plan a job in the part of the nodes that the gate leaves to jobs of its sort."""
        if self.gate is None:
            return self._plan(Part(job, table), value, planner.SLOT_PLAN)
        part = self.gate.part(job, table)
        if isinstance(part, Refusal):
            return part
        result = self._plan(part, value, planner.SLOT_PLAN)
        if isinstance(result, Refusal):
            return result
        plan = slot_gate.on_all_nodes(result, part.table, table)
        self.gate.count(part, plan, table)
        return plan

    def _plan(self, part: Part, value: float, rule: str) -> Plan | Refusal:
        return planner.plan_cached(
            self.session.snapshot.cache,
            part.job,
            part.table,
            self.session.parameters,
            value,
            was_whole=part.job.key in self.whole,
            targets=part.targets,
            rule=rule,
        )

    def _explained(self, refusal: Refusal, job: Job, moved: Replacements) -> Refusal:
        """Return the refusal, or the move or replacement that holds members back."""
        if moved.held:
            return Refusal.of(Reason.MIGRATING)
        held = (member.pod for member in job.having(State.HELD))
        gated = refusal.reason is Reason.ADMISSION_GATED
        if gated and replacements.awaited_by(self.session.snapshot, held):
            return Refusal.of(Reason.REPLACING)
        return refusal
