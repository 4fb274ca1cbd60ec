"""CPU requests that follow the remaining work of training, node by node.

**Invariant.** What the weighed pods of a node ask for together is never raised above what their
owners gave them. What was given is written on a pod before its request is changed, and struck out
when it is restored; so a restart, a crash or another replica finds it.

**Who gets what.** Pods whose remaining work is known share by ``cpu_weights``. A pod of
which too little is known keeps its request for ``PATIENCE_SECONDS`` and is then given back its own;
so is one whose node did not grant a change. A pod in an open migration, or one that is ending, is
left alone. Where weights are switched off, or the extender is about to end, everybody is given
back, pods in migrations too.

**When.** A change of less than a tenth is not made, except to give back. Requests are set when it
is due, and at once where a pod's end left the others with more than they were given. No node is
looked at while a change there is not seen yet.
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
        due: Whether requests may be set anew now.
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
        found_pending: Reasons of changes newly seen as not granted.
    """

    found_pending: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Seen:
    """What is known of a pod's training: ``known`` is whether that is enough to weigh it."""

    effort: Effort | None = None
    work: float | None = None
    category: Category | None = None
    known: bool = False


_NOTHING: Final = _Seen()


@dataclass(frozen=True)
class _View:
    """Inputs of one pass; ``seen`` is what is known of the training of pods."""

    reading: Reading
    params: CoreParameters
    restoring: bool
    moving: frozenset[Uid]
    seen: Mapping[Uid, _Seen]


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
        every_pod = {one.uid: one for here in nodes.values() for one in here}
        state = learned(state, trigger.results, now)
        state = kept(state, every_pod, now)
        state, pending = followed_pending(state, every_pod, now)
        seen = {} if restoring else _observed(session, nodes, state)
        moving = frozenset[Uid]() if restoring else migrations.moving_pods(snapshot)
        state = _remembered(state, every_pod, seen, now)
        view = _View(session.reading, params, restoring, moving, seen)
        commands = [
            command
            for node, here in nodes.items()
            if not any(one.uid in state.sent for one in here)
            and (command := _node(node, here, state, view, due=trigger.due))
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
    node: NodeName, here: Sequence[WeightedPod], memory: CpuSharesState, view: _View, *, due: bool
) -> ResizeNode | None:
    anyway = due or view.restoring
    if not anyway and sum(one.held_milli - one.given_milli for one in here if one.noted) <= 0:
        return None
    portions = [_portion(one, memory, view) for one in here]
    if not (anyway or is_too_much(portions)):
        return None
    pods = resizes(portions, view.params.cpu_weights)
    return ResizeNode(node, pods) if pods else None


def _portion(one: WeightedPod, memory: CpuSharesState, view: _View) -> Portion:
    """Return the part that a pod has in its node's CPU."""
    seen = view.seen.get(one.uid, _NOTHING)
    if _is_left_alone(one, memory, view):
        part = Part.KEEPS if one.noted else Part.NONE
    elif view.restoring or _rests(one, memory, view):
        part = Part.RETURNS if one.noted else Part.NONE
    elif seen.known:
        part = Part.SHARES
    elif not one.noted:
        part = Part.NONE
    else:
        late = view.reading.monotonic >= memory.silent_since[one.uid] + PATIENCE_SECONDS
        part = Part.RETURNS if late else Part.KEEPS
    return Portion(one, part, seen.work, converged=seen.category is Category.CONVERGED)


def _is_left_alone(one: WeightedPod, memory: CpuSharesState, view: _View) -> bool:
    if one.pod.deleting or one.uid in memory.pauses:
        return True
    pending = memory.pending.get(one.uid)
    waits = pending is not None and not pending.struck  # its node may still find room for it
    return not view.restoring and (waits or one.uid in view.moving)


def _rests(one: WeightedPod, memory: CpuSharesState, view: _View) -> bool:
    rest = memory.rests.get(one.uid)
    return rest is not None and view.reading.monotonic < rest.until


def _observed(
    session: Session, nodes: Mapping[NodeName, Sequence[WeightedPod]], memory: CpuSharesState
) -> Mapping[Uid, _Seen]:
    """Return what agents report of the training of all pods."""
    found: dict[Uid, _Seen] = {}
    blind = session.parameters.cpu_weights.exponent == 0  # the remaining work need not be known
    for node, here in nodes.items():
        said = session.report(node)
        reports = said.pods if said is not None else {}
        for one in here:
            if (report := reports.get(one.uid)) is not None:
                before = memory.efforts.get(one.uid)
                found[one.uid] = _evaluated(one, report, before, session.monotonic, blind=blind)
    return found


def _evaluated(
    one: WeightedPod, report: PodReport, before: Effort | None, now: float, *, blind: bool
) -> _Seen:
    after = effort.followed(before, report, now, as_given=not one.noted)
    work = effort.work_left(after, report)
    category = report.progress.category if report.progress else None
    known = work is not None or (blind and category is not None)
    return _Seen(after, work, category, known)


def _remembered(
    memory: CpuSharesState,
    everybody: Mapping[Uid, WeightedPod],
    seen: Mapping[Uid, _Seen],
    now: float,
) -> CpuSharesState:
    """Remember what steps cost, and since when too little is known of a changed pod."""
    efforts = {uid: one.effort for uid, one in seen.items() if one.effort is not None}
    silent = {
        uid: memory.silent_since.get(uid, now)
        for uid, one in everybody.items()
        if one.noted and not seen.get(uid, _NOTHING).known
    }
    return replace(memory, efforts={**memory.efforts, **efforts}, silent_since=silent)
