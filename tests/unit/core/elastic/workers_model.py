"""A small abstract cluster around one change of one job's workers: every way it can go.

The extender's part is the real one (``elastic.decision``, ``agents.requests``) on real snapshots.
Everything else is a word: each worker is not there (``""``), ``gated``, ``runs`` or ``ending``; the
trainer, whose speaker is worker 0, ``trains``, ``holds`` after its ack,
has ``refused`` or ``released``.

The extender remembers nothing from pass to pass, so that a crash changes nothing; and
a write whose answer is lost is the same as one that was answered.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from extender.core.agents import requests
from extender.core.agents.requests import Ask, Cancel
from extender.core.cluster.commands import ChangeOwner
from extender.core.cluster.snapshot import Snapshot
from extender.core.records.rescale import Cause, Proposal, Rescale
from shared import labels
from shared.model import NodeName, Pod
from shared.progress import Checkpoint, CheckpointPhase
from tests.fakes.builders import make_node, make_pod
from tests.fakes.reports import make_pod_report, make_report
from tests.unit.core.clusters import store_of
from tests.unit.core.elastic.changing_cluster import (
    NOW,
    PARAMS,
    job_key,
    looked,
    numbers,
    owner_of,
    written,
)

LEAST, MOST = 2, 4
NOTES: Final = {
    "checkpoint": {labels.WORKERS: f"{LEAST}..{MOST}", labels.CHECKPOINT: ""},
    "terminate": {labels.WORKERS: f"{LEAST}..{MOST}", labels.SHRINK: "terminate"},
}
PHASES: Final = {
    "holds": CheckpointPhase.ACKED,
    "refused": CheckpointPhase.REFUSED,
    "released": CheckpointPhase.RELEASED,
}


class OwnerState(Struct, frozen=True):
    """The owner: its number, whether it is suspended, its annotation and its version."""

    number: int
    suspended: bool = False
    rescale: Rescale | None = None
    version: int = 1


class World(Struct, frozen=True, kw_only=True):
    """One state of everything.

    Attributes:
        goal: What is proposed, until it is begun.
        owner: As it is.
        seen: As the extender sees it, if that is not so.
        request: What the trainer was asked last.
        room: Whether there is any for another worker.
        faults: How many more things may go wrong.
        writes: Numbers that we wrote.
        foreign: Another client has changed the owner.
    """

    way: str
    goal: Proposal | None
    owner: OwnerState
    workers: tuple[str, ...]
    seen: OwnerState | None = None
    now: float = NOW
    trainer: str = "trains"
    request: str = ""
    agent: bool = True
    room: bool = True
    faults: int = 0
    writes: tuple[int, ...] = ()
    foreign: bool = False

    def key(self) -> tuple[Any, ...]:
        """What tells two worlds apart: of times only what is over."""
        one = self.owner.rescale
        seen = self.seen and (self.seen.number, self.seen.suspended)
        phase = one and (one.phase, one.cause, one.to, one.why, one.asked, _over(self, one))
        asked = bool(one) and self.request == one.id if one else bool(self.request)
        return (
            (self.goal is None, self.owner.number, self.owner.suspended, phase, seen),
            (self.workers, self.trainer, asked, self.agent, self.room, self.faults),
            (self.writes, self.foreign),
        )


def start(way: str, to: int, before: int = 3, *, paused: bool = False, faults: int = 2) -> World:
    """A job to which a change is proposed; ``paused``: it has been paused by its plan."""
    slot = to == 0 or paused
    goal = Proposal(job_key(), to, Cause.SLOT if slot else Cause.SLOWS)
    workers = tuple("" if paused or i >= before else "runs" for i in range(MOST + 1))
    rescale = None
    if paused:
        from_plan = start(way, 0, before)
        done = settled_record(from_plan)
        rescale = done
    owner = OwnerState(before, paused, rescale)
    return World(way=way, goal=goal, owner=owner, workers=workers, faults=faults)


def settled_record(world: World) -> Rescale:
    """The word about a pause that went well."""
    asked = written(commands(world)[0])
    return replace(asked, phase="Done", since=NOW - 1000, at=NOW - 1000)


def snapshot(world: World) -> Snapshot:
    """What the extender sees."""
    state = world.seen or world.owner
    trainer = (world.trainer, world.request)
    return _snapshot(world.way, state, world.workers, trainer, world.agent)


@lru_cache(maxsize=50_000)
def _snapshot(
    way: str, state: OwnerState, workers: tuple[str, ...], trainer: tuple[str, str], agent: bool
) -> Snapshot:
    owner = owner_of(
        state.number, rescale=state.rescale, notes=NOTES[way], suspended=state.suspended
    )
    owner = replace(owner, resource_version=str(state.version))
    pods = [_pod(owner, i, state) for i, state in enumerate(workers) if state]
    store = store_of([make_node("a", cpu="64")], owner, pods)
    if agent:
        here = [pod for pod in pods if pod.node_name]
        store.report(make_report("a", [_report(pod, *trainer) for pod in here]))
    return store.snapshot()


def _pod(owner: Any, index: int, state: str) -> Pod:
    return make_pod(
        f"j-{index}",
        owner=owner,
        index=index,
        node=None if state == "gated" else "a",
        gated=state == "gated",
        deleting=state == "ending",
    )


def _report(pod: Pod, trainer: str, request: str) -> Any:
    if pod.name != "j-0":
        return make_pod_report(pod.uid)
    phase = PHASES.get(trainer, CheckpointPhase.NONE)
    return make_pod_report(pod.uid, checkpoint=Checkpoint(phase=phase, request=request))


# --- the extender's part -------------------------------------------------------------------------


def commands(world: World) -> tuple[ChangeOwner, ...]:
    proposals = () if world.goal is None else (world.goal,)
    return looked(snapshot(world), *proposals, now=world.now).commands


def looks(world: World) -> Iterator[tuple[str, World]]:
    """Every way in which a look and its write can go."""
    for command in commands(world):
        name = command.why
        if command.owner.resource_version != str(world.owner.version):
            yield f"{name}: conflict", replace(world, seen=None)
            continue
        after = _written(world, command)
        yield name, after
        if world.faults:
            less = world.faults - 1
            yield f"{name}: refused", replace(world, faults=less)
            yield f"{name}: seen late", replace(after, faults=less, seen=world.owner)


def _written(world: World, command: ChangeOwner) -> World:
    number, one = numbers(command), written(command)
    owner = world.owner
    check_write(world, command)
    after = OwnerState(
        owner.number if number is None else number,
        owner.suspended if command.suspend is None else command.suspend,
        one,
        owner.version + 1,
    )
    changed = (after.number, after.suspended) != (owner.number, owner.suspended)
    wrote = (*world.writes, 0 if after.suspended else after.number) if changed else world.writes
    return replace(world, owner=after, goal=None, writes=wrote, seen=None)


def check_write(world: World, command: ChangeOwner) -> None:
    """No number outside of the range, and no training worker is removed without a checkpoint."""
    number = numbers(command)
    assert number is None or LEAST <= number <= MOST, command.why
    stays = 0 if command.suspend else len(world.workers) if number is None else number
    lost = [i for i, state in enumerate(world.workers) if i >= stays and state == "runs"]
    if lost and world.way == "checkpoint":
        assert world.trainer == "holds", f"{command.why}: {lost} leave without a checkpoint"


# --- the part of other programs ------------------------------------------------------------------


def fair(world: World) -> Iterator[tuple[str, World]]:
    """What happens sooner or later, if nothing goes wrong."""
    if world.seen is not None:
        yield "watch", replace(world, seen=None)
    yield from _trainer(world)
    for late in (None, 0, 2):
        after = world
        for i, state in _next(world):
            after = after if i == late else _with_worker(after, i, state)
        if after is not world:
            yield f"owner, scheduler, kubelets, all but {late}", after


def _next(world: World) -> Iterator[tuple[int, str]]:
    """What becomes of each worker that does not stay as it is."""
    stays = 0 if world.owner.suspended else world.owner.number
    for i, state in enumerate(world.workers):
        after = _worker(world, state, stays=i < stays)
        if after is not None:
            yield i, after


def _worker(world: World, state: str, *, stays: bool) -> str | None:
    """What becomes of a worker next; None: it stays as it is."""
    if state == "ending":
        return ""
    if not stays:
        return {"gated": "", "runs": "ending"}.get(state)
    if state == "gated":
        return "runs" if world.room else None
    return "gated" if state == "" else None


def _with_worker(world: World, index: int, state: str) -> World:
    workers = (*world.workers[:index], state, *world.workers[index + 1 :])
    if index == 0 and state in {"", "ending"} and world.workers[0] == "runs":
        return replace(world, workers=workers, trainer="trains", request="")
    return replace(world, workers=workers)


def _trainer(world: World) -> Iterator[tuple[str, World]]:
    if world.workers[0] != "runs":
        return
    one = world.owner.rescale
    if world.trainer == "holds" and one is not None and world.now >= one.hold_until:
        yield "hold ends", replace(world, trainer="released")
    if not world.agent:
        return
    for command in requests.commands(snapshot(world), NodeName("a")):
        match command:
            case Ask() if world.request != command.id and world.now < command.deadline:
                yield "ack", replace(world, trainer="holds", request=command.id)
            case Cancel() if world.trainer == "holds" and world.request == command.id:
                yield "cancelled", replace(world, trainer="released")
            case _:
                pass


def unfair(world: World) -> Iterator[tuple[str, World]]:
    """What may go wrong beside writes."""
    if not world.faults:
        return
    less = replace(world, faults=world.faults - 1)
    for i in (0, 2):
        if world.workers[i] == "runs":
            yield f"a user deletes worker {i}", _with_worker(less, i, "ending")
    one = world.owner.rescale
    if one is not None and one.open and world.trainer == "trains" and world.workers[0] == "runs":
        yield "cannot save", replace(less, trainer="refused", request=one.id)
    if world.agent:
        yield "the agent falls silent", replace(less, agent=False)
    if world.room:
        yield "no room any more", replace(less, room=False)
    by_hand = replace(less, foreign=True, seen=world.seen or world.owner)
    for name, owner in _by_hand(world.owner):
        yield name, replace(by_hand, owner=replace(owner, version=owner.version + 1))


def _by_hand(owner: OwnerState) -> Iterator[tuple[str, OwnerState]]:
    """Writes of another client to the owner."""
    for number in (LEAST, MOST):
        if number != owner.number:
            yield f"{number} by hand", replace(owner, number=number)
    yield "suspended or resumed by hand", replace(owner, suspended=not owner.suspended)
    if owner.rescale is not None:
        yield "annotation gone", replace(owner, rescale=None)


def later(world: World) -> World:
    """The next moment at which something is over."""
    one = world.owner.rescale
    ahead = [at for at in _deadlines(one) if at > world.now] if one is not None else []
    return replace(world, now=min(ahead, default=world.now))


def _deadlines(one: Rescale) -> tuple[float, ...]:
    params = PARAMS.rescaling
    limit = one.hold_until - 0.1 * params.hold_seconds
    ends = (one.since + params.grow_seconds, one.since + params.leave_seconds)
    return (one.ask_until, limit, one.hold_until, *ends)


def _over(world: World, one: Rescale) -> tuple[bool, ...]:
    return tuple(world.now >= at for at in _deadlines(one))
