"""The decision log on disk: everything that changed the store and every decision, in segments.

All changes of the store pass through the ``Recorder``, so that the log lacks none. Records are
collected in memory and written once a second behind the decisions (``log_writer``); a segment
that has grown to its size is closed, the next one opens with the whole state, and the oldest beyond
their number go. A long list is no record: it makes the next one open a segment, with what it said.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

from extender.core.agents import heartbeats
from extender.core.agents.heartbeats import NodeHeartbeat
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
"""Objects of a list that becomes a record; encoding them takes some 2 ms of the event loop."""

log = logging.getLogger(__name__)


@dataclass
class Recorder:
    """The store's only writer in this process, and the decisions' witness.

    Attributes:
        files: Where the log goes; None keeps no log.
        parameters_hash: Which parameters decide.
        signatures: Say of what is observed whether it is ours where it says so.
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
        """Take over what was observed, as far as it is ours where it says so."""
        delta = self.signatures.checked(delta)
        self._newest = max(self._newest, newest_pod(delta))
        if not self._stands_in_the_next(delta):
            self._keep(DeltaRecord(delta))
        self._store.apply(delta)

    def show(self, pod: Pod) -> None:
        """Take over a pod that kube-scheduler has seen before our own watch came to it.

        One that is not newer than all we have seen is gone: it would never be deleted here.
        """
        if not self._store.holds(pod.uid) and version(pod) > self._newest:
            self._keep(DeltaRecord(Upsert(pod)))
            self._store.apply(Upsert(pod))

    def genuine(self, pod: Pod) -> Pod:
        """Return a pod that kube-scheduler shows, without what is not ours and says it is."""
        return self.signatures.genuine(pod)

    def report(self, heard: NodeHeartbeat) -> NodeReport:
        """Take over a heartbeat; return what is known of its node now."""
        if self.writer is not None:
            self._keep(ReportRecord(heartbeats.for_the_log(heard)))
        report = heartbeats.merged(self._store.reported(heard.node), heard)
        self._store.report(report)
        return report

    def assume_reservation(self, pod: Pod, node: NodeName, *, plan: str, plan_size: int) -> None:
        """Assume that the pod is released, or its planned node rewritten."""
        at = self.clock.monotonic()
        self._assume(Assumption.reserved(pod.uid, node, plan=plan, plan_size=plan_size, at=at))

    def assume_bound(self, uid: Uid, node: NodeName) -> None:
        """Assume that the pod is bound, after its Binding was written."""
        self._assume(Assumption.bound(uid, node, at=self.clock.monotonic()))

    def assume_deleted(self, uid: Uid) -> None:
        """Assume that the pod is being deleted, after we deleted it."""
        self._assume(Assumption.deleted(uid, at=self.clock.monotonic()))

    def give(self, grant: Grant) -> None:
        """Apply what an answer to filter granted, except the placeholder that it took."""
        kept = grant.placeholders
        if kept is None:
            return
        for given in grant.given:
            self._assume(
                Assumption.promised(
                    given.uid, given.node, kept=kept, decision=given.decision, at=kept.at
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
        """The latest write to the pod failed."""
        self._keep(ForgetRecord(uid))
        self._store.forget(uid)

    def expire(self, before: float) -> None:
        """Drop assumptions made earlier than ``before`` (monotonic) and not seen since."""
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
        """Keep a decision that was made at once; ``state`` is what it started from."""
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
        """Keep what a decision starts from during which the store may change.

        No segment begins before it has ended, so that both its lines stand in one; unless one must,
        after a loss or a long list: then the second line is left out.
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
        """Keep what came of a decision that ``begins`` was called for."""
        if self.writer is None or not self.writer.end_pair(decision.name):
            self._continued.discard(decision.name)
            return
        output = decision.summary(session.snapshot, trigger, outcome)
        self._decision(f"{decision.name}{ENDS}", self.clock.now(), None, output)

    def fails(self, decision: Decision[StateT, TriggerT, OutcomeT]) -> None:
        """Go on without what a decision that began would have decided."""
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
        """Return the input, with states only where the last record does not lead to them."""
        if decision.name in self._continued or decision.state_type is NoState:
            return DecisionInput(session.reading, trigger)
        self._continued.add(decision.name)
        others = {other.name: session.states.of(other) for other in decision.reads}
        return DecisionInput(session.reading, trigger, state, others)

    def bound(self, pod: Pod, node: NodeName, text: str) -> None:
        """Keep the end of one Binding: "" or the error."""
        if not self._keeps():
            return
        given = {"pod": pod.key, "uid": pod.uid, "node": node}
        self._decision("bind", self.clock.now(), given, text)

    def start_anew(self) -> None:
        """The next decisions start from other states than the last ones left."""
        self._continued.clear()

    async def run(self) -> None:
        """Write what was kept once a second; returns only by cancellation, after a last write."""
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
        """Keep a decision, where ``_keeps`` has just said that it can be.

        It is asked once for each decision, and before its input is put together: what that must
        hold depends on whether a segment has just begun.
        """
        generation = self._store.generation
        record = DecisionRecord(
            kind=kind, generation=generation, now=now, input=given, output=output
        )
        if self.writer is not None:
            self.writer.add(recording.encode(record))

    def _keep(self, record: Record) -> None:
        """Keep a record, always before the store changes: a segment opens with the state."""
        if self._keeps() and self.writer is not None:
            self.writer.add(recording.encode(record))

    def _keeps(self) -> bool:
        """Return True if a record can be kept now; one that cannot is counted."""
        if self.writer is None:
            return False
        ready = self._ready()
        if not ready:
            self.writer.drop()
        return ready

    def _stands_in_the_next(self, delta: Delta) -> bool:
        """Return True if what a list says is kept as a part of the state that a segment opens with.

        All of them are, as long as no segment is open; a long one ends the segment that is.
        """
        if self.writer is None or not isinstance(delta, Replace):
            return False
        if len(delta.entities) > MOST_LISTED:
            self.writer.end_segment()
            return True
        return self.writer.state is State.DUE

    def _ready(self) -> bool:
        """Return True if a record can be kept; one that needs a new segment opens it."""
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
