"""Why one pod or one job waits, and what would make it run."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from msgspec.structs import replace as changed

from extender.core.cluster import job_views, replacements
from extender.core.cluster.cache import Cache
from extender.core.cluster.jobs import Job, State
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.explain import changing, node_changes, positions, quota, verdicts
from extender.core.explain.changing import Before
from extender.core.explain.corrections import as_queued, corrections
from extender.core.explain.trial import Situation, Trials
from extender.core.kinds import registry
from extender.core.parameters.combined import CoreParameters
from extender.core.placement import planner
from extender.core.placement.planner import Refusal
from extender.core.queue import backfill, running_jobs
from extender.core.queue.backfill import HeadReservation
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.notices import QueueEntry
from extender.core.queue.state import QueueState
from extender.core.records import migrations
from extender.core.scheduler import prioritizing
from shared import api, labels
from shared.explanation import Ahead, Change, Step, StepKind, Tried
from shared.model import JobKey, Pod, PodKey

MOST_AHEAD: Final = 10
"""Jobs before this one that are named."""
_UNPLACED: Final = (State.GATED, State.HELD, State.DIRECT)
_ADVANCE: Final = (
    *(State.HELD, State.GATED, State.DIRECT, State.IN_TREE, State.LOOSE, State.SEATED),
    *(State.LEAVING, State.BOUND, State.FAILED, State.SUCCEEDED),
)
"""How far a member is, the least first."""


def _go_on() -> None:
    """Check nothing."""


@dataclass(frozen=True)
class Asked:
    """What an explanation is made from; ``asked`` makes one that a thread of its own may read.

    Attributes:
        snapshot: The cluster.
        params: Of the engine.
        cycle: The last one; None before the first.
        reading: Now.
        check: Called again and again while the answer is worked out; what it raises ends that.
    """

    snapshot: Snapshot
    params: CoreParameters
    cycle: QueueOutcome | None
    reading: Reading
    check: Callable[[], None] = _go_on

    @property
    def memory(self) -> QueueState:
        """What the last cycle remembered."""
        return self.cycle.state if self.cycle else QueueState()


@dataclass(frozen=True)
class _Why:
    """What is said of the job, whatever was asked."""

    reason: Reason | None = None
    message: str = ""
    needs: int = 0
    fits: int = 0
    cause: str = ""
    short: Mapping[str, int] | None = None
    tried: tuple[Tried, ...] = ()
    changes: tuple[Change, ...] = ()


def asked(
    snapshot: Snapshot,
    params: CoreParameters,
    cycle: QueueOutcome | None,
    reading: Reading,
    check: Callable[[], None] = _go_on,
) -> Asked:
    """Return what an explanation is made from, sharing nothing that changes.

    Args:
        snapshot: The cluster.
        params: Of the engine.
        cycle: The last one; None before the first.
        reading: Now.
        check: See ``Asked``. The core reads no clock: whoever asks says when it is enough.
    """
    room = node_changes.of_its_own(snapshot.room, check)
    own = replace(snapshot, room=room, cache=snapshot.cache.beside())
    return Asked(own, params, cycle, reading, check)


def pod(asked: Asked, pod: Pod) -> api.ExplainResponse:
    """Return where a pod stands, every term of the nodes that could take it, and why it waits."""
    snapshot, params = asked.snapshot, asked.params
    ours = pod.scheduler_name == params.scheduler_name
    key = registry.job_key(pod)
    known = ours and key in snapshot.jobs
    seen = job_views.view(snapshot, key) if known else None
    member = next((m for m in seen.members if m.pod.uid == pod.uid), None) if seen else None
    terms = prioritizing.explain(snapshot, pod, params) if ours else {}
    ranked = sorted(terms.items(), key=lambda item: (-item[1]["total"], item[0]))
    answer = _answer(asked, key, seen, _why(asked, seen) if seen else _foreign(asked, pod, key))
    return changed(
        answer,
        pod=pod.name,
        state=member.state.value if member else "",
        node=member.node if member else pod.node_name,
        decision=pod.annotations.get(labels.DECISION, ""),
        nodes=tuple(api.NodeTerms(node=name, **found) for name, found in ranked),
    )


def job(asked: Asked, key: JobKey) -> api.ExplainResponse:
    """Return why a job waits; it must be in ``snapshot.jobs``."""
    seen = job_views.view(asked.snapshot, key)
    states = {member.state for member in seen.members}
    state = next(one for one in _ADVANCE if one in states)
    return changed(_answer(asked, key, seen, _why(asked, seen)), state=state.value)


def named(snapshot: Snapshot, namespace: str, name: str, kind: str = "") -> tuple[JobKey, ...]:
    """Return the jobs of that name, of every kind or of one."""
    found = (key.split("/", 2) for key in snapshot.jobs)
    wanted = (p for p in found if (p[0], p[2]) == (namespace, name) and kind in {"", p[1]})
    return tuple(sorted(JobKey("/".join(parts)) for parts in wanted))


def _answer(asked: Asked, key: JobKey, seen: Job | None, why: _Why) -> api.ExplainResponse:
    entries = asked.cycle.entries if asked.cycle else ()
    placed = positions.placed(entries)
    at = next((i for i, entry in placed if entry.job.key == key), None)
    before = [] if at is None else placed[: at - 1][::-1]
    return api.ExplainResponse(
        generated_at=asked.reading.now,
        namespace=key.split("/", 1)[0],
        job=key,
        state="",
        reason=why.reason.value if why.reason else "",
        message=why.message,
        position=at,
        warnings=seen.warnings if seen else (),
        ahead=tuple(
            Ahead(position=i, job=e.job.key, reason=e.reason.value, v=e.value.v)
            for i, e in before[:MOST_AHEAD]
            if i is not None
        ),
        counts=_counts(seen) if seen else None,
        needs=why.needs,
        fits=why.fits,
        cause=why.cause,
        short=why.short or {},
        tried=why.tried,
        changes=why.changes,
    )


def _counts(seen: Job) -> api.MemberCounts:
    return api.MemberCounts(**Counter(member.state.value for member in seen.members))


def _why(asked: Asked, seen: Job) -> _Why:
    entry = _entry(asked, seen.key)
    reason, message = (entry.reason, entry.message) if entry else (None, "")
    if not seen.having(*_UNPLACED):
        return _Why(reason, message or _unpinned(seen))
    s = _situation(asked, seen)
    result = s.plan()
    refused = result if isinstance(result, Refusal) else None
    if entry is None and refused:
        reason, message = refused.reason, refused.message
    if refused and refused.reason is Reason.RELEASING:
        return _Why(reason, message)
    again_at = _again_at(asked, seen.key)
    mends = (*quota.raised(s, reason), *corrections(s, _old_pods(asked.snapshot, seen.key)))
    head = _head(asked, seen)
    ahead = as_queued(job_views.view(asked.snapshot, head.job)) if head else None
    before = Before(mends, again_at, head, ahead)
    why = _of_nodes(mends[-1].after if mends else s, s, before, asked)
    if mends or again_at is not None:
        why = replace(why, cause=mends[0].cause if mends else "back-off")
    elif reason is Reason.AWAITING_ROOM:
        why = replace(why, cause="workers")
    elif reason is Reason.BEHIND_RESERVATION:
        why = replace(why, cause="reservation")
    elif refused and refused.reason is Reason.TOPOLOGY_PLACEMENT_FAILED:
        why = replace(why, cause="topology")
    return replace(why, reason=reason, message=message)


def _unpinned(seen: Job) -> str:
    """Say that pods were released without a pin and why; empty if none was."""
    words = {word for member in seen.having(State.LOOSE) for word in member.shape.unmodelled}
    if not words:
        return ""
    return f"released without a pin, kube-scheduler chooses the nodes: {', '.join(sorted(words))}"


def _of_nodes(mended: Situation, s: Situation, before: Before, asked: Asked) -> _Why:
    """Return what the nodes say to the job once it is mended, and all the changes."""
    room = mended.room
    looks = verdicts.looks(mended.groups, room)
    trials, fits, needs = Trials(mended), mended.fits, max(1, planner.missing(mended.job))
    lacking = fits < needs
    return _Why(
        needs=needs,
        fits=fits,
        cause=(verdicts.deciding(looks) or verdicts.scarcest(looks)) if lacking else "",
        short=verdicts.short(verdicts.looks(mended.needed().groups, room)) if lacking else {},
        tried=tuple(verdicts.tried(look) for look in looks),
        changes=changing.changes(s, before, trials, asked.memory, asked.reading),
    )


def _foreign(asked: Asked, pod: Pod, key: JobKey) -> _Why:
    """Return what keeps a pod of another scheduler, if it waits: that it is not ours."""
    ours = asked.params.scheduler_name
    if pod.scheduler_name == ours or pod.node_name or pod.finished:
        return _Why()
    pods = tuple(
        changed(other, scheduler_name=ours)
        for _, other in sorted(asked.snapshot.pods.items())
        if other.scheduler_name == pod.scheduler_name and registry.job_key(other) == key
    )
    jobs_then = {**asked.snapshot.jobs, key: pods}
    snapshot = replace(asked.snapshot, jobs=jobs_then, cache=Cache())
    why = _why(replace(asked, snapshot=snapshot), job_views.view(snapshot, key))
    step = Step(
        kind=StepKind.SET_SCHEDULER,
        subject=key,
        field="schedulerName",
        before=pod.scheduler_name,
        after=ours,
    )
    says = f"set schedulerName to {ours} (now {pod.scheduler_name})"
    further = tuple(
        changed(c, steps=(step, *c.steps), says=f"{says}, and then {c.says}") for c in why.changes
    )
    alone = (Change(kind=step.kind, says=says, steps=(step,)),)
    return replace(
        why, reason=None, message="", cause="scheduler", changes=further if why.reason else alone
    )


def _situation(asked: Asked, seen: Job) -> Situation:
    """Return the job before the room that the cycle would give it."""
    snapshot = asked.snapshot
    arrivals = migrations.replacements_by_job(snapshot).get(seen.key, migrations.NO_REPLACEMENTS)
    room = snapshot.room
    if arrivals.targets:
        room = migrations.without_reservations(room, arrivals.kept)
    if (head := _head(asked, seen)) is not None:
        room = backfill.open_nodes(head, room)
    queued = as_queued(migrations.with_held(seen, arrivals.held))
    return Situation(snapshot, queued, room, asked.params, arrivals.targets)


def _head(asked: Asked, seen: Job) -> HeadReservation | None:
    """Return for whom room is kept that this job may not use; None if for nobody."""
    head = asked.cycle.backfill_head if asked.cycle else None
    if head is None or head.job == seen.key:
        return None
    if [n.name for n in head.after.nodes] != [n.name for n in asked.snapshot.room.nodes]:
        return None  # the nodes are others now: the next cycle reserves anew
    session = Session(asked.snapshot, asked.reading, asked.params)
    lasts = running_jobs.lasts(seen, session, asked.memory)
    gone = backfill.gone_in_time(head, asked.reading.now, lasts)
    return None if gone else head


def _entry(asked: Asked, key: JobKey) -> QueueEntry | None:
    entries = asked.cycle.entries if asked.cycle else ()
    return next((entry for entry in entries if entry.job.key == key), None)


def _again_at(asked: Asked, key: JobKey) -> float | None:
    """Return when a job that gave its seats back may try again, seconds since the epoch."""
    backoff = asked.memory.backoff.get(key)
    left = backoff.until - asked.reading.monotonic if backoff else 0.0
    return asked.reading.now + left if left > 0 else None


def _old_pods(snapshot: Snapshot, key: JobKey) -> tuple[PodKey, ...]:
    """Return the pods that are moved away or replaced, and that are not gone yet."""
    moved = (
        PodKey(f"{migration.namespace}/{member.pod}")
        for _, migration in sorted(snapshot.migrations.items())
        if migration.job == key
        for member in migration.members
        if not migrations.has_left(snapshot, migration, member)
    )
    replaced = replacements.awaited_by(snapshot, snapshot.jobs.get(key, ()))
    return tuple(dict.fromkeys((*moved, *replaced)))
