"""A model of a cluster around one migration of one pod: every way that it can go, step by step.

The extender's part is real (the decision, checkpoint requests, replacements) on real snapshots.
Everything else is a word: the old pod ``runs``, is ``ending``, ``gone`` or has ``ended`` by itself;
the new one does not exist (``none``), is ``gated`` or ``placed``; the trainer ``trains``, ``holds``
after its ack, or has ``refused``.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from extender.core.agents import requests
from extender.core.agents.requests import Ask, Cancel
from extender.core.cluster.replacements import new_name
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.migration.commands import (
    EvictPod,
    Inspect,
    RecreatePod,
    Result,
    ResumeJob,
    SuspendJob,
    WriteStatus,
)
from extender.core.migration.decision import MIGRATION, MigrationState, MigrationTrigger
from extender.core.migration.transitions import Attempt
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.migration import MigrationParameters
from extender.core.records import migrations
from extender.core.records.migration_reasons import MigrationReason as R
from shared import labels
from shared.model import JobState, Migration, MigrationPhase, Mover, NodeName, Uid
from shared.progress import Checkpoint, CheckpointPhase
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.fakes.migrations import make_member, make_migration
from tests.fakes.reports import make_pod_report, make_report
from tests.unit.core.clusters import store_of

P = MigrationPhase
PARAMS: Final = MigrationParameters()
ACKED: Final = 100
SILENT: Final = Checkpoint(problem="TrainerSilent", step=ACKED)
JUST_AFTER: Final = 0.01
"""Seconds past a deadline."""

KINDS: Final = {Mover.RECREATE: "", Mover.SUSPEND: "Job", Mover.EVICT: "ReplicaSet"}


class World(Struct, frozen=True, kw_only=True):
    """One state of everything.

    Attributes:
        lag: Whether the extender still observes the old pod or its Job as before its eviction.
        departed: Whether we made the old pod leave.
        suspended: Whether the Job is suspended, always by us.
        resumed: Whether the agent reported a step of the new pod beyond the checkpoint.
        answered: Whether it reported the resumption of the new trainer.
        refused: Whether the server refused once to create the pod again.
        faults: How many more things may go wrong.
    """

    migration: Migration
    now: float = 0.0
    old: str = "runs"
    new: str = "none"
    trainer: str = "trains"
    owner: bool = True
    target: bool = True
    agent: bool = True
    suspended: bool = False
    lag: bool = False
    departed: bool = False
    resumed: bool = False
    answered: bool = True
    refused: bool = False
    attempt: Attempt | None = None
    faults: int = 0

    @property
    def mover(self) -> Mover:
        return self.migration.mover

    def key(self) -> tuple[Any, ...]:
        """Return what distinguishes two worlds: of the times only which are over."""
        m = self.migration
        over = tuple(self.now >= at for at in (m.deadline, m.hold_until, _second_deadline(m)))
        members = tuple((x.replacement, x.acked_step, x.node) for x in m.members)
        return (
            (m.phase, m.reason, m.request, members, over),
            (self.old, self.new, self.trainer, self.owner, self.target, self.agent),
            (self.suspended, self.lag, self.departed, self.resumed, self.refused),
            (self.attempt and (self.attempt.result, self.attempt.reason), self.faults),
        )


def start(mover: Mover, faults: int) -> World:
    """Return the world of a new migration."""
    pod = _old_pod(mover, deleting=False, phase="Running")
    owner = make_owner("m", kind=KINDS[mover]) if KINDS[mover] else None
    job = {Mover.RECREATE: "default/pod/m", Mover.SUSPEND: "default/job/m"}
    one = make_migration(
        make_member(pod),
        job=job.get(mover, "default/owner/replicaset.m"),
        mover=mover,
        owner=owner,
        name="m-1",
    )
    return World(migration=one, faults=faults)


def snapshot(world: World) -> Snapshot:
    """Return what the extender observes."""
    return _snapshot(
        world.migration,
        "runs" if world.lag else world.old,
        world.new,
        (world.trainer, world.resumed, world.answered),
        world.owner,
        world.target,
        world.agent,
        world.suspended and not world.lag,
    )


@lru_cache(maxsize=20_000)
def _snapshot(
    one: Migration,
    old: str,
    new: str,
    training: tuple[str, bool, bool],
    owner: bool,
    target: bool,
    agent: bool,
    suspended: bool,
) -> Snapshot:
    trainer, resumed, answered = training
    entities: list[Any] = [make_node("a"), one, *([make_node("b")] if target else [])]
    if one.mover is Mover.SUSPEND and owner:
        entities.append(_job(one, suspended=suspended, active=int(old in {"runs", "ending"})))
    if old != "gone":
        phase = "Failed" if old == "ended" else "Running"
        entities.append(_old_pod(one.mover, deleting=old == "ending", phase=phase))
    if new != "none":
        entities.append(_new_pod(one, bound=new == "placed", target=target))
    store = store_of(*entities)
    if agent:
        here = [] if old == "gone" else [_report("old", _checkpoint(one, trainer))]
        store.report(make_report("a", here))
        trainer_of_new = Checkpoint(resumed_step=ACKED) if answered else SILENT
        there = [_report("new", trainer_of_new, step=_step(resumed=resumed))]
        if new == "placed":
            store.report(make_report("b" if target else "a", there))
    return store.snapshot()


def _step(*, resumed: bool) -> int:
    return ACKED + 1 if resumed else ACKED


def _report(uid: str, checkpoint: Checkpoint, step: int = ACKED) -> Any:
    return make_pod_report(uid, checkpoint=checkpoint, step=step)


def _checkpoint(one: Migration, trainer: str) -> Checkpoint:
    if trainer == "holds":
        return Checkpoint(
            request=one.request or "migration-m-1", phase=CheckpointPhase.ACKED, acked_step=ACKED
        )
    if trainer == "refused":
        return Checkpoint(request=one.request, phase=CheckpointPhase.REFUSED)
    if trainer == "released":
        return Checkpoint(request=one.request or "migration-m-1", phase=CheckpointPhase.RELEASED)
    return Checkpoint()


def _owner_of(mover: Mover) -> Any:
    return make_owner("m", kind=KINDS[mover]) if KINDS[mover] else None


def _old_pod(mover: Mover, *, deleting: bool, phase: str) -> Any:
    owner = _owner_of(mover)
    if mover is Mover.EVICT:
        owner = make_owner("m", kind="ReplicaSet", api_version="apps/v1")
    return make_pod(
        "m" if owner is None else "m-old",
        uid="old",
        node="a",
        owner=owner,
        deleting=deleting,
        phase=phase,
        plan="p",
        index=0 if mover is Mover.SUSPEND else None,
    )


def _new_pod(one: Migration, *, bound: bool, target: bool) -> Any:
    mover, owner = one.mover, _owner_of(one.mover)
    if mover is Mover.EVICT:
        owner = make_owner("m", kind="ReplicaSet", api_version="apps/v1")
    return make_pod(
        new_name("m", "old") if owner is None else "m-new",
        uid="new",
        node=("b" if target else "a") if bound else None,
        gated=not bound,
        owner=owner,
        created_at=1.0,
        annotations={labels.MIGRATION: one.key} if mover is Mover.RECREATE else {},
        index=0 if mover is Mover.SUSPEND else None,
    )


def _job(one: Migration, *, suspended: bool, active: int) -> Any:
    notes = {labels.MIGRATION: one.key} if suspended else {}
    state = JobState(suspended=suspended, active=active)
    return replace(make_owner("m", annotations=notes), job=state)


def _second_deadline(one: Migration) -> float:
    return one.deadline + PARAMS.recreate_seconds


# --- the extender's part -------------------------------------------------------------------------


def commands(world: World) -> tuple[Any, ...]:
    """Return the commands of a pass now; the pauses of failed tries are over."""
    attempts = {} if world.attempt is None else {world.migration.key: world.attempt}
    reading = Reading(world.now, 1.0)
    memory = MigrationState(attempts=attempts)
    session = Session(snapshot(world), reading, CoreParameters(migration=PARAMS))
    return MIGRATION.decide(session, memory, MigrationTrigger(choose=False)).commands


def passes(world: World) -> Iterator[tuple[str, World]]:
    """Yield every way in which a pass and its writes can go."""
    for command in commands(world):
        if isinstance(command, WriteStatus):
            written = replace(world, migration=_stored(world, command.migration))
            yield from _acts(written, command.actions)
            if world.faults:
                less = replace(written, faults=world.faults - 1)
                yield "written, answer lost", less
                yield "written, crash", replace(less, attempt=None)
        elif isinstance(command, EvictPod | SuspendJob | ResumeJob | RecreatePod | Inspect):
            yield from _acts(world, (command,))
    if world.attempt is not None and world.faults:
        yield "crash", replace(world, attempt=None, faults=world.faults - 1)


def _stored(world: World, one: Migration) -> Migration:
    version = str(int(world.migration.resource_version) + 1)
    return replace(one, resource_version=version)


def _acts(world: World, actions: tuple[Any, ...]) -> Iterator[tuple[str, World]]:
    if not actions:
        yield "look", world
        return
    (action,) = actions
    done = _done(world, action)
    if done is not None:
        yield f"{type(action).__name__} done", done
    if isinstance(action, Inspect):
        return
    less = replace(world, faults=world.faults - 1)
    if world.faults:
        if isinstance(action, RecreatePod):
            less = replace(less, refused=True)
        yield f"{type(action).__name__} refused", _tried(less, Result.REFUSED, _why(action))
        yield f"{type(action).__name__} lost", _tried(less, Result.UNCLEAR, R.EVICTION_REFUSED)
        if done is not None and isinstance(action, EvictPod | SuspendJob):
            hidden = replace(done, faults=world.faults - 1, lag=True)
            yield (
                f"{type(action).__name__} done, answer lost",
                _tried(hidden, Result.UNCLEAR, R.EVICTION_REFUSED),
            )
            yield f"{type(action).__name__} done, crash", replace(hidden, attempt=None, lag=False)


def _why(action: Any) -> R:
    return R.NOT_RECREATED if isinstance(action, RecreatePod) else R.DISRUPTION_BUDGET


def _tried(world: World, result: Result, reason: R) -> World:
    return replace(world, attempt=Attempt(result, reason))


def _done(world: World, action: Any) -> World | None:
    """Return the world after the server carried the action out; None if it does nothing."""
    done = replace(world, attempt=Attempt(Result.DONE), lag=False)
    match action:
        case EvictPod() | SuspendJob():
            return done if _has_left(world) or not world.owner else _made_leave(done)
        case ResumeJob():
            return replace(done, suspended=False)
        case RecreatePod():
            return replace(done, new="gated") if world.new == "none" else done
        case Inspect():
            result = Result.DONE if _has_left(world) else Result.REFUSED
            return replace(_tried(world, result, R.EVICTION_REFUSED), lag=False)
    raise AssertionError(action)


def _has_left(world: World) -> bool:
    """Return True if the eviction or suspension has happened, observed or not."""
    return world.suspended if world.mover is Mover.SUSPEND else world.old in {"ending", "gone"}


def _made_leave(world: World) -> World:
    assert world.trainer == "holds", "made to leave without an ack"
    if world.mover is Mover.SUSPEND:
        return replace(world, suspended=True, departed=True)
    return replace(world, old="ending", departed=True)


# --- the part of all others -----------------------------------------------------------------------


def fair(world: World) -> Iterator[tuple[str, World]]:
    """Yield what happens sooner or later if nothing goes wrong."""
    yield from _trainer(world)
    if world.lag:
        yield "watch", replace(world, lag=False)
    if world.old == "ending":
        yield "old pod ends", replace(world, old="gone", trainer="gone")
    if world.suspended and world.old == "runs":
        yield "job controller", replace(world, old="ending")
    yield from _owner(world)
    yield from _scheduler(world)
    if world.new == "placed" and not world.resumed:
        yield "new pod goes on", replace(world, resumed=True)


def _trainer(world: World) -> Iterator[tuple[str, World]]:
    if world.old != "runs":
        return
    if world.trainer == "holds" and world.now >= world.migration.hold_until > 0:
        yield "hold ends", replace(world, trainer="released")
    if not world.agent:
        return
    for command in requests.commands(snapshot(replace(world, lag=False)), NodeName("a")):
        match command:
            case Ask() if world.trainer == "trains" and world.now < command.deadline:
                yield "ack", replace(world, trainer="holds")
            case Cancel() if world.trainer == "holds":
                yield "cancelled", replace(world, trainer="released")
            case _:
                pass


def _owner(world: World) -> Iterator[tuple[str, World]]:
    if world.new != "none" or not world.owner:
        return
    if world.mover is Mover.RECREATE or world.suspended or world.old == "runs":
        return
    yield "owner makes a new pod", replace(world, new="gated")


def _scheduler(world: World) -> Iterator[tuple[str, World]]:
    if world.new != "gated":
        return
    arrivals = migrations.replacements_by_job(snapshot(world)).values()
    if any(Uid("new") in one.held for one in arrivals):
        return
    yield "released and bound", replace(world, new="placed")


def unfair(world: World) -> Iterator[tuple[str, World]]:
    """Yield what may go wrong beside lost answers and crashes."""
    if not world.faults:
        return
    less = replace(world, faults=world.faults - 1)
    if world.old == "runs":
        yield "another client deletes the pod", replace(less, old="ending")
        yield "the pod ends by itself", replace(less, old="ended", trainer="gone")
    if world.old == "runs" and world.trainer == "trains" and world.migration.request:
        yield "the trainer cannot save", replace(less, trainer="refused")
    if world.suspended:
        left = world.old in {"ending", "gone"}  # otherwise our suspension had no effect
        yield "another client resumes the job", replace(less, suspended=False, departed=left)
    if world.target:
        yield "the target goes", replace(less, target=False)
    if world.agent:
        yield "the agent stops reporting", replace(less, agent=False)
    if world.owner and KINDS[world.mover] == "Job":
        old = "ending" if world.old == "runs" else world.old
        new = "none" if world.new == "gated" else world.new
        yield "the owner is deleted", replace(less, owner=False, old=old, new=new, suspended=False)


def later(world: World) -> World:
    """Return the world at the next deadline."""
    m = world.migration
    ahead = [at for at in (m.deadline, m.hold_until, _second_deadline(m)) if at > world.now]
    return replace(world, now=min(ahead, default=world.now) + JUST_AFTER)
