"""The decision log: every change of the store and every decision, in segments on disk.

All changes of the store pass through the ``Recorder``, so that the log lacks none. Records are
buffered and written once a second in the background (``log_writer``). A full segment is closed, the
next one begins with the whole state, and the oldest beyond their number are deleted. A long list is
not recorded: the next record begins a segment, whose state contains it.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

from extender.core.agents import heartbeats
from extender.core.agents.heartbeats import NodeHeartbeat
from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.session import Decision, OutcomeT, Session, StateT, TriggerT
from extender.core.decisionlog.replay import BEGINS, ENDS, DecisionInput
from extender.core.scheduler.direct_gangs import Grant
from extender.core.scheduler.requests import NoState
from extender.metrics.extender import ExtenderMetrics
from extender.store import recording
from extender.store.assumed import Assumption
from extender.store.recording import (
    AssumptionRecord,
    DecisionRecord,
    DeltaRecord,
    DropPlaceholdersRecord,
    ExpireRecord,
    ForgetRecord,
    KeepPlaceholdersRecord,
    Record,
    ReportRecord,
    TakePlaceholderRecord,
    UnpromiseRecord,
)
from extender.store.source import StoreReads
from extender.store.store import ClusterStore
from extender.store.versions import newest_pod, version
from extender.writers.decision_log.log_writer import LogWriter, State
from extender.writers.decision_log.segments import SegmentFiles
from extender.writers.signing.signatures import Signatures
from shared.clock import Clock
from shared.health import Heartbeat
from shared.model import Delta, JobKey, NodeName, Pod, Replace, Uid, Upsert
from shared.progress import NodeReport

BEAT_SECONDS: Final = 1.0
MOST_LISTED: Final = 500
"""Longest list that becomes a record; encoding it takes some 2 ms of the event loop."""

log = logging.getLogger(__name__)


@dataclass
class Recorder:
    """The only writer of the store; records its changes and every decision.

    Attributes:
        files: Files of the log; None: no log is kept.
        parameters_hash: Digest of the parameters that decide.
        signatures: Remove records from observed objects that are not ours.
    """

    _store: ClusterStore
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    files: SegmentFiles | None
    parameters_hash: str
    signatures: Signatures = field(default_factory=Signatures)
    writer: LogWriter | None = field(init=False, default=None)
    _newest: int = 0
    _continued: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.files is not None:
            self.writer = LogWriter(self.files, self.clock, self.metrics, self.heartbeat)

    @property
    def store(self) -> StoreReads:
        """The reading side of the store."""
        return self._store

    def apply(self, delta: Delta) -> None:
        """Apply an observed change, without records that are not ours."""
        delta = self.signatures.checked(delta)
        self._newest = max(self._newest, newest_pod(delta))
        if not self._is_in_next_opening(delta):
            self._keep(DeltaRecord(delta))
        self._store.apply(delta)

    def show(self, pod: Pod) -> None:
        """Add a pod that kube-scheduler has observed before us.

        One that is not newer than every pod we observed is gone: it would never be deleted here.
        """
        if not self._store.holds(pod.uid) and version(pod) > self._newest:
            self._keep(DeltaRecord(Upsert(pod)))
            self._store.apply(Upsert(pod))

    def genuine(self, pod: Pod) -> Pod:
        """Return a pod from a request of kube-scheduler, without records that are not ours."""
        return self.signatures.genuine(pod)

    def report(self, heartbeat: NodeHeartbeat) -> NodeReport:
        """Merge a heartbeat into the report of its node; return the report."""
        if self.writer is not None:
            self._keep(ReportRecord(heartbeats.for_the_log(heartbeat)))
        report = heartbeats.merged(self._store.reported(heartbeat.node), heartbeat)
        self._store.report(report)
        return report

    def assume_reservation(self, pod: Pod, node: NodeName, *, plan: str, plan_size: int) -> None:
        """Assume that the pod is released, or its planned node rewritten."""
        at = self.clock.monotonic()
        self._assume(Assumption.reserved(pod.uid, node, plan=plan, plan_size=plan_size, at=at))

    def promise(self, gang: ReleaseGang) -> None:
        """Reserve for a gang whose plan is written with its Bindings."""
        at = self.clock.monotonic()
        for release in gang.pods:
            if release.node is not None:
                self._assume(
                    Assumption.promised(
                        release.uid,
                        release.node,
                        plan_of=(release.plan, release.plan_size),
                        decision=release.decision,
                        at=at,
                        gated=True,
                    )
                )

    def assume_bound(self, uid: Uid, node: NodeName) -> None:
        """Assume that the pod is bound, after its Binding was written."""
        self._assume(Assumption.bound(uid, node, at=self.clock.monotonic()))

    def assume_deleted(self, uid: Uid) -> None:
        """Assume that the pod is being deleted, after we deleted it."""
        self._assume(Assumption.deleted(uid, at=self.clock.monotonic()))

    def give(self, grant: Grant) -> None:
        """Apply the grant of an answer to filter, except the placeholder that it took."""
        kept = grant.placeholders
        if kept is None:
            return
        for given in grant.given:
            self._assume(
                Assumption.promised(
                    given.uid,
                    given.node,
                    plan_of=(kept.plan, kept.plan_size),
                    decision=given.decision,
                    at=kept.at,
                )
            )
        self._keep(KeepPlaceholdersRecord(kept))
        self._store.keep_placeholders(kept)

    def take_placeholder(self, job: JobKey, number: int, uid: Uid) -> None:
        """Give a placeholder to a pod that an answer to filter placed there."""
        at = self.clock.monotonic()
        self._keep(TakePlaceholderRecord(job, number, uid, at))
        self._store.take_placeholder(job, number, uid, at=at)

    def drop_placeholders(self, job: JobKey) -> None:
        """Drop the placeholders of a job."""
        self._keep(DropPlaceholdersRecord(job))
        self._store.drop_placeholders(job)

    def forget_promises(self) -> None:
        """Drop promises and placeholders of a standby: the leader makes its own."""
        for job in tuple(self._store.snapshot().placeholders):
            self.drop_placeholders(job)
        for uid in self._store.promised():
            self.unpromise(uid)

    def unpromise(self, uid: Uid) -> None:
        """Withdraw a promised reservation."""
        self._keep(UnpromiseRecord(uid))
        self._store.unpromise(uid)

    def forget(self, uid: Uid) -> None:
        """Drop the assumption about a pod, because the write to it failed."""
        self._keep(ForgetRecord(uid))
        self._store.forget(uid)

    def expire(self, before: float) -> None:
        """Drop assumptions made earlier than ``before`` (monotonic) and not observed since."""
        self._ready()
        if late := self._store.expire(before):
            log.warning("%d writes of ours were never observed", len(late))
            self._keep(ExpireRecord(before))

    def decided(
        self,
        decision: Decision[StateT, TriggerT, OutcomeT],
        session: Session,
        state: StateT,
        trigger: TriggerT,
        outcome: OutcomeT,
    ) -> None:
        """Record a decision that began and ended at once; ``state`` is the state before it."""
        if not self._keeps():
            return
        kept = decision.shortened(session.snapshot, trigger, outcome)
        output = decision.summary(session.snapshot, kept, outcome)
        given = self._input(decision, session, state, kept)
        self._decision(decision.name, session.reading.now, given, output)

    def begins(
        self,
        decision: Decision[StateT, TriggerT, OutcomeT],
        session: Session,
        state: StateT,
        trigger: TriggerT,
    ) -> None:
        """Record the input of a decision during which the store may change.

        No segment begins before it ends, so that both its lines are in one segment; except after a
        loss or a long list: then the second line is left out.
        """
        if not self._keeps():
            return
        given = self._input(decision, session, state, trigger)
        self._decision(f"{decision.name}{BEGINS}", session.reading.now, given, None)
        if self.writer is not None:
            self.writer.begin_pair(decision.name)

    def ends(
        self,
        decision: Decision[StateT, TriggerT, OutcomeT],
        session: Session,
        trigger: TriggerT,
        outcome: OutcomeT,
    ) -> None:
        """Record the outcome of a decision after ``begins``."""
        if self.writer is None or not self.writer.end_pair(decision.name):
            self._continued.discard(decision.name)
            return
        output = decision.summary(session.snapshot, trigger, outcome)
        self._decision(f"{decision.name}{ENDS}", self.clock.now(), None, output)

    def fails(self, decision: Decision[StateT, TriggerT, OutcomeT]) -> None:
        """Record no outcome of a decision that began and failed."""
        if self.writer is not None:
            self.writer.end_pair(decision.name)
        self._continued.discard(decision.name)

    def _input(
        self,
        decision: Decision[StateT, TriggerT, OutcomeT],
        session: Session,
        state: StateT,
        trigger: TriggerT,
    ) -> DecisionInput:
        """Return the input, with states only if they do not follow from the last record."""
        if decision.name in self._continued or decision.state_type is NoState:
            return DecisionInput(session.reading, trigger)
        self._continued.add(decision.name)
        others = {other.name: session.states.of(other) for other in decision.reads}
        return DecisionInput(session.reading, trigger, state, others)

    def bound(self, pod: Pod, node: NodeName, text: str) -> None:
        """Record the end of one Binding: "" or the error."""
        if not self._keeps():
            return
        given = {"pod": pod.key, "uid": pod.uid, "node": node}
        self._decision("bind", self.clock.now(), given, text)

    def start_anew(self) -> None:
        """Record the states of the next decisions: they do not follow from the last records."""
        self._continued.clear()

    async def run(self) -> None:
        """Write records once a second; returns only by cancellation, after a last write."""
        if self.writer is not None:
            await self.writer.run()
        while True:
            self.heartbeat.beat()
            await asyncio.sleep(BEAT_SECONDS)

    async def _flush(self) -> None:
        if self.writer is not None:
            await self.writer.flush()

    def _assume(self, assumption: Assumption) -> None:
        self._keep(AssumptionRecord(assumption))
        self._store.assume(assumption)

    def _decision(self, kind: str, now: float, given: object, output: object) -> None:
        """Record a decision after ``_keeps`` has returned True for it.

        ``_keeps`` is called once for each decision, before its input is built: the input depends on
        whether a segment has just begun.
        """
        generation = self._store.generation
        record = DecisionRecord(
            kind=kind, generation=generation, now=now, input=given, output=output
        )
        if self.writer is not None:
            self.writer.add(recording.encode(record))

    def _keep(self, record: Record) -> None:
        """Add a record, always before the store changes: a segment begins with the state before."""
        if self._keeps() and self.writer is not None:
            self.writer.add(recording.encode(record))

    def _keeps(self) -> bool:
        """Return True if a record can be added now; count it as dropped if not."""
        if self.writer is None:
            return False
        ready = self._ready()
        if not ready:
            self.writer.drop()
        return ready

    def _is_in_next_opening(self, delta: Delta) -> bool:
        """Return True if a list is recorded as a part of the state at the head of the next segment.

        This holds for all lists while no segment is open; a long list ends the open segment.
        """
        if self.writer is None or not isinstance(delta, Replace):
            return False
        if len(delta.entities) > MOST_LISTED:
            self.writer.end_segment()
            return True
        return self.writer.state is State.DUE

    def _ready(self) -> bool:
        """Return True if a record can be added; begin a segment if it needs one."""
        writer = self.writer
        if writer is None:
            return False
        if writer.state is State.OPEN and not writer.full:
            return True
        if not writer.may_begin():
            return False
        self._continued.clear()
        writer.begin(self._store.held(), self.parameters_hash)
        return True
