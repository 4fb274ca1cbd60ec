"""Which jobs have a training fault, by all their agents' reports: begun, gone on, ended.

Hung jobs whose owner asks for it are restarted (``restarts``).

A fault is reported once, when it begins. It ends when the reports say so: a member makes progress,
values are finite again, steps are alike again; or when its pod is gone. While reports are missing,
or the job waits for us, nothing begins and nothing ends.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from extender.core.cluster import job_views
from extender.core.cluster.commands import ChangeOwner, DeletePod, EmitEvent
from extender.core.cluster.job_spec import OnHang
from extender.core.cluster.jobs import Job
from extender.core.cluster.session import Decision, Outcome, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.training_faults import fault_detection, observed_members, restarts
from extender.core.training_faults.fault_detection import FaultKind, Finding, Observed, Window
from extender.core.training_faults.restarts import Refusal
from shared import labels
from shared.model import JobKey, NodeName, Uid

ACTION: Final = "Train"
"""Prefix of the action of Events: each kind of fault has its own."""


class Fault(Struct, frozen=True):
    """A fault that goes on.

    Attributes:
        uid: The pod that shows it.
        since: When it was found, seconds since the epoch.
        moved_at: Of a hung job: when a member last had a new value, on that agent's clock.
    """

    kind: FaultKind
    uid: Uid
    pod: str
    node: NodeName
    message: str
    since: float
    moved_at: Mapping[Uid, float] = {}


class TrainingFaultsTrigger(Struct, frozen=True):
    """A pass is due; there is nothing beside the session."""


class TrainingFaultsState(Struct, frozen=True):
    """What one pass leaves for the next; a new leader finds the faults again.

    Attributes:
        faults: Of each job that has any, at most one of each kind.
        windows: Comparisons of steps that run, by job.
        refusals: Why hung jobs are not restarted, by job; each was reported.
    """

    faults: Mapping[JobKey, tuple[Fault, ...]] = {}
    windows: Mapping[JobKey, Window] = {}
    refusals: Mapping[JobKey, Refusal] = {}


Command = EmitEvent | ChangeOwner | DeletePod


@dataclass(frozen=True, kw_only=True)
class TrainingFaultsOutcome(Outcome[TrainingFaultsState, Command]):
    """What one pass found.

    Attributes:
        begun: Kinds of the faults that began, each once for its job.
        ended: Kinds of those that ended.
    """

    begun: tuple[FaultKind, ...] = ()
    ended: tuple[FaultKind, ...] = ()


@dataclass(frozen=True)
class _Found:
    """The faults of one job after a pass, its comparison of steps, and what is done if it hangs."""

    faults: tuple[Fault, ...]
    window: Window | None
    restart: ChangeOwner | Refusal | None


class TrainingFaultsDecision(
    Decision[TrainingFaultsState, TrainingFaultsTrigger, TrainingFaultsOutcome]
):
    """See the module."""

    name = "training-faults"
    state_type = TrainingFaultsState
    trigger_type = TrainingFaultsTrigger

    @override
    def decide(
        self, session: Session, state: TrainingFaultsState, trigger: TrainingFaultsTrigger
    ) -> TrainingFaultsOutcome:
        del trigger
        found: dict[JobKey, _Found] = {}
        commands: list[Command] = list(restarts.deletions(session))
        if session.parameters.fault_detection.enabled:
            changing = observed_members.changing_jobs(session.snapshot)
            reported = observed_members.reported_jobs(session)
            known = (key for key in state.faults if key in session.snapshot.jobs)
            for key in sorted({*reported, *known}):
                job = job_views.view(session.snapshot, key)
                found[key] = _of_job(session, job, state, changes=key in changing)
                commands.extend(_events(job, state.faults.get(key, ()), found[key].faults))
                commands.extend(_restart(job, found[key].restart, state.refusals.get(key)))
        after = TrainingFaultsState(
            faults={key: one.faults for key, one in found.items() if one.faults},
            windows={key: one.window for key, one in found.items() if one.window is not None},
            refusals={
                key: one.restart for key, one in found.items() if isinstance(one.restart, Refusal)
            },
        )
        return TrainingFaultsOutcome(
            commands=tuple(commands),
            state=after,
            begun=tuple(_difference(after, state)),
            ended=tuple(_difference(state, after)),
        )

    @override
    def summary(
        self,
        snapshot: Snapshot,
        trigger: TrainingFaultsTrigger,
        outcome: TrainingFaultsOutcome,
    ) -> dict[str, object]:
        """Return the faults that go on, and the Events."""
        return {"commands": outcome.commands, "faults": outcome.state.faults}


TRAINING_FAULTS: Final = TrainingFaultsDecision()


def _of_job(session: Session, job: Job, state: TrainingFaultsState, *, changes: bool) -> _Found:
    """Return the faults of a job; as before where its reports cannot be compared now."""
    uids = {member.pod.uid for member in job.members}
    before = {f.kind: f for f in state.faults.get(job.key, ()) if f.uid in uids}
    members = None if changes else observed_members.observed(session, job)
    if members is None:
        refusal = state.refusals.get(job.key) if FaultKind.HUNG in before else None
        return _Found(tuple(before.values()), None, refusal)
    params = session.parameters.fault_detection
    diverged = fault_detection.diverged(members, params)
    if diverged is not None and FaultKind.DIVERGED not in before:
        before[FaultKind.DIVERGED] = _begun(diverged, session.now)
    slow, window = _straggler(session, members, state.windows.get(job.key), before)
    hung = _hung(session, members, before.get(FaultKind.HUNG))
    restart = None if hung is None else restarts.decide(session, job, hung)
    faults = (hung, slow, None if diverged is None else before[FaultKind.DIVERGED])
    return _Found(tuple(fault for fault in faults if fault is not None), window, restart)


def _restart(
    job: Job, restart: ChangeOwner | Refusal | None, before: Refusal | None
) -> Iterator[Command]:
    """Yield the write of a restart, or an Event with a new reason why there is none."""
    if isinstance(restart, ChangeOwner):
        yield restart
    elif restart is not None and restart != before:
        yield restarts.refused(job, restart)


def _hung(session: Session, members: tuple[Observed, ...], before: Fault | None) -> Fault | None:
    if before is not None and not _has_moved(before, members):
        return before
    finding = fault_detection.hung(members, session.parameters.fault_detection)
    return None if finding is None else _begun(finding, session.now, members)


def _straggler(
    session: Session,
    members: tuple[Observed, ...],
    begun: Window | None,
    before: Mapping[FaultKind, Fault],
) -> tuple[Fault | None, Window]:
    """Return the straggler, and the comparison that goes on or begins."""
    params, now = session.parameters.fault_detection, session.monotonic
    slow = before.get(FaultKind.STRAGGLER)
    if begun is None:
        return slow, fault_detection.window(members, now)
    if now - begun.since < fault_detection.window_seconds(members, params):
        return slow, begun
    uid = slow.uid if slow else None
    finding = fault_detection.straggler(begun, members, params, before=uid)
    found = None if finding is None else _renewed(slow, finding, session.now)
    return found, fault_detection.window(members, now)


def _begun(finding: Finding, now: float, members: tuple[Observed, ...] = ()) -> Fault:
    moved_at = {m.uid: m.moved_at for m in members if m.moved_at is not None}
    return Fault(
        kind=finding.kind,
        uid=finding.uid,
        pod=finding.pod,
        node=finding.node,
        message=finding.message,
        since=now,
        moved_at=moved_at,
    )


def _renewed(before: Fault | None, finding: Finding, now: float) -> Fault:
    """Return the fault of a straggler with its newest figures."""
    fault = _begun(finding, now)
    return (
        fault if before is None or before.uid != fault.uid else replace(fault, since=before.since)
    )


def _has_moved(fault: Fault, members: tuple[Observed, ...]) -> bool:
    """Return True if a member had a new value since the fault was found."""
    return any(
        m.moved_at is not None and m.moved_at > fault.moved_at.get(m.uid, float("-inf"))
        for m in members
    )


def _difference(one: TrainingFaultsState, other: TrainingFaultsState) -> Iterator[FaultKind]:
    """Yield the kinds of the faults in ``one`` that are not in ``other``."""
    for key, faults in one.faults.items():
        known = {(f.kind, f.uid) for f in other.faults.get(key, ())}
        yield from (f.kind for f in faults if (f.kind, f.uid) not in known)


_REASONS: Final = {
    FaultKind.HUNG: "TrainingHangs",
    FaultKind.STRAGGLER: "TrainingStraggles",
    FaultKind.DIVERGED: "TrainingDiverged",
}


def _events(job: Job, before: tuple[Fault, ...], after: tuple[Fault, ...]) -> Iterator[EmitEvent]:
    """Yield an Event for each fault that began."""
    known = {(fault.kind, fault.uid) for fault in before}
    for fault in after:
        if (fault.kind, fault.uid) not in known:
            yield EmitEvent(
                job.namespace,
                job.about,
                _REASONS[fault.kind],
                f"{fault.message}; {_advice(job, fault)}",
                warning=True,
                action=f"{ACTION}{fault.kind}",
            )


def _advice(job: Job, fault: Fault) -> str:
    """Return what a user can do about a fault."""
    match fault.kind:
        case FaultKind.HUNG if job.spec.on_hang is OnHang.NOTHING:
            restart = f"{labels.ON_HANG}: restart on its owner restarts such a job"
            return f"{_log_of(job, fault)}; the annotation {restart}"
        case FaultKind.HUNG:
            return _log_of(job, fault)
        case FaultKind.STRAGGLER:
            move = f"`shuntyard move {job.key} --from {fault.node}`"
            return f"if the node is slow, {move} moves the job after a checkpoint"
        case FaultKind.DIVERGED:
            return "the job still holds its nodes: end it, or resume an earlier checkpoint"


def _log_of(job: Job, fault: Fault) -> str:
    return f"`kubectl logs -n {job.namespace} {fault.pod}` may say why"
