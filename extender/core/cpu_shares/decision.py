"""CPU requests that follow the remaining work of training, node by node.

**Invariant.** The requests of the weighed pods of a node are never raised above the sum that their
owners gave. The owner's request is noted on a pod before it is changed, and the note removed when
it is restored, so that it survives a restart, a crash or a change of the leader.

**Shares.** Pods whose remaining work is known share by ``cpu_weights``. A pod without enough
reports keeps its request for ``PATIENCE_SECONDS`` and is then restored; so is one whose node did
not grant a change. A pod in an open migration, or one that is ending, is left alone. When weights
are switched off, or the extender is about to end, all pods are restored, those in migrations too.

**Time.** A change of less than a tenth is not made, except to restore. Requests are set when due,
and at once when the end of a pod left the others with more than they were given. A node waits
while a change there is not observed yet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from extender.core.cluster.session import Decision, Outcome, Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.cpu_shares import effort
from extender.core.cpu_shares.commands import ResizeNode, ResizeResult
from extender.core.cpu_shares.effort import Effort
from extender.core.cpu_shares.portions import (
    Part,
    Portion,
    WeightedPod,
    is_too_much,
    resizes,
    weighted_pods,
)
from extender.core.cpu_shares.state import CpuSharesState, followed_pending, kept, learned
from extender.core.parameters.combined import CoreParameters
from extender.core.records import migrations
from shared.model import NodeName, Uid
from shared.progress import Category, PodReport

PATIENCE_SECONDS: Final = 120.0
"""A pod keeps its changed request for so long while its agent or its progress is silent, as after
a restart."""


class CpuSharesTrigger(Struct, frozen=True):
    """Why the pass runs.

    Attributes:
        due: Requests may be set anew now.
        leaving: The extender is about to end.
        results: Of the last pass's commands.
    """

    due: bool
    leaving: bool = False
    results: tuple[ResizeResult, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CpuSharesOutcome(Outcome[CpuSharesState, ResizeNode]):
    """What one pass decided; a command is for one node.

    Attributes:
        found_pending: Reasons of new changes that are not granted.
    """

    found_pending: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Training:
    """A pod's training as reported; ``known``: enough of it to weigh the pod."""

    effort: Effort | None = None
    work: float | None = None
    category: Category | None = None
    known: bool = False


_NOTHING: Final = _Training()


@dataclass(frozen=True)
class _View:
    """Inputs of one pass; ``trainings`` by pod."""

    reading: Reading
    params: CoreParameters
    restoring: bool
    moving: frozenset[Uid]
    trainings: Mapping[Uid, _Training]


class CpuSharesDecision(Decision[CpuSharesState, CpuSharesTrigger, CpuSharesOutcome]):
    """See the module."""

    name = "cpu-shares"
    state_type = CpuSharesState
    trigger_type = CpuSharesTrigger

    @override
    def decide(
        self, session: Session, state: CpuSharesState, trigger: CpuSharesTrigger
    ) -> CpuSharesOutcome:
        snapshot, params, now = session.snapshot, session.parameters, session.monotonic
        restoring = trigger.leaving or not params.cpu_weights.enabled
        nodes = weighted_pods(snapshot)
        every_pod = {pod.uid: pod for pods in nodes.values() for pod in pods}
        state = learned(state, trigger.results, now)
        state = kept(state, every_pod, now)
        state, pending = followed_pending(state, every_pod, now)
        trainings = {} if restoring else _trainings(session, nodes, state)
        moving = frozenset[Uid]() if restoring else migrations.moving_pods(snapshot)
        state = _remembered(state, every_pod, trainings, now)
        view = _View(session.reading, params, restoring, moving, trainings)
        commands = [
            command
            for node, pods in nodes.items()
            if not any(pod.uid in state.sent for pod in pods)
            and (command := _node(node, pods, state, view, due=trigger.due))
        ]
        return CpuSharesOutcome(commands=tuple(commands), state=state, found_pending=pending)

    @override
    def summary(
        self, snapshot: Snapshot, trigger: CpuSharesTrigger, outcome: CpuSharesOutcome
    ) -> dict[str, object]:
        """Return the commands."""
        return {"commands": outcome.commands}


CPU_SHARES: Final = CpuSharesDecision()


def _node(
    node: NodeName, pods: Sequence[WeightedPod], state: CpuSharesState, view: _View, *, due: bool
) -> ResizeNode | None:
    anyway = due or view.restoring
    if not anyway and sum(pod.held_milli - pod.given_milli for pod in pods if pod.noted) <= 0:
        return None
    portions = [_portion(pod, state, view) for pod in pods]
    if not (anyway or is_too_much(portions)):
        return None
    commands = resizes(portions, view.params.cpu_weights)
    return ResizeNode(node, commands) if commands else None


def _portion(weighted: WeightedPod, state: CpuSharesState, view: _View) -> Portion:
    """Return the part that a pod has in its node's CPU."""
    training = view.trainings.get(weighted.uid, _NOTHING)
    if _is_left_alone(weighted, state, view):
        part = Part.KEEPS if weighted.noted else Part.NONE
    elif view.restoring or _rests(weighted, state, view):
        part = Part.RETURNS if weighted.noted else Part.NONE
    elif training.known:
        part = Part.SHARES
    elif not weighted.noted:
        part = Part.NONE
    else:
        late = view.reading.monotonic >= state.silent_since[weighted.uid] + PATIENCE_SECONDS
        part = Part.RETURNS if late else Part.KEEPS
    converged = training.category is Category.CONVERGED
    return Portion(weighted, part, training.work, converged=converged)


def _is_left_alone(weighted: WeightedPod, state: CpuSharesState, view: _View) -> bool:
    if weighted.pod.deleting or weighted.uid in state.pauses:
        return True
    pending = state.pending.get(weighted.uid)
    waits = pending is not None and not pending.struck  # its node may still find room for it
    return not view.restoring and (waits or weighted.uid in view.moving)


def _rests(weighted: WeightedPod, state: CpuSharesState, view: _View) -> bool:
    rest = state.rests.get(weighted.uid)
    return rest is not None and view.reading.monotonic < rest.until


def _trainings(
    session: Session, nodes: Mapping[NodeName, Sequence[WeightedPod]], state: CpuSharesState
) -> Mapping[Uid, _Training]:
    """Return what agents report of the training of all pods."""
    trainings: dict[Uid, _Training] = {}
    blind = session.parameters.cpu_weights.exponent == 0  # the remaining work need not be known
    for node, pods in nodes.items():
        node_report = session.report(node)
        reports = node_report.pods if node_report is not None else {}
        for pod in pods:
            if (report := reports.get(pod.uid)) is not None:
                before = state.efforts.get(pod.uid)
                trainings[pod.uid] = _training(pod, report, before, session.monotonic, blind=blind)
    return trainings


def _training(
    pod: WeightedPod, report: PodReport, before: Effort | None, now: float, *, blind: bool
) -> _Training:
    after = effort.followed(before, report, now, as_given=not pod.noted)
    work = effort.work_left(after, report)
    category = report.progress.category if report.progress else None
    known = work is not None or (blind and category is not None)
    return _Training(after, work, category, known)


def _remembered(
    state: CpuSharesState,
    pods: Mapping[Uid, WeightedPod],
    trainings: Mapping[Uid, _Training],
    now: float,
) -> CpuSharesState:
    """Keep the CPU time of steps, and since when changed pods lack reports."""
    efforts = {uid: t.effort for uid, t in trainings.items() if t.effort is not None}
    silent = {
        uid: state.silent_since.get(uid, now)
        for uid, pod in pods.items()
        if pod.noted and not trainings.get(uid, _NOTHING).known
    }
    return replace(state, efforts={**state.efforts, **efforts}, silent_since=silent)
