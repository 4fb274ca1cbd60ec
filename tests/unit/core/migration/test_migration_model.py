"""Every path of a migration with up to two faults: the invariant holds."""

from collections import deque
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from extender.core.records import migrations
from shared.model import MigrationPhase as P
from shared.model import Mover
from tests.unit.core.migration.migration_model import World, fair, later, passes, start, unfair

FAULTS = 2
MOST_FAIR_STEPS = 60
LEAST_WORLDS = 2000
"""A lower bound, so that the model does not become trivial."""


def steps(world: World) -> Iterator[tuple[str, World]]:
    yield from passes(world)
    yield from fair(world)
    yield from unfair(world)
    yield "time", later(world)


def explored(mover: Mover, faults: int = FAULTS) -> dict[object, tuple[World, str]]:
    """Return every world that can be reached, each with its path."""
    first = start(mover, faults)
    reached: dict[object, tuple[World, str]] = {first.key(): (first, "")}
    queue = deque([first])
    while queue:
        world = queue.popleft()
        path = reached[world.key()][1]
        for name, after in steps(world):
            check(after, f"{path} > {name}")
            if after.key() not in reached:
                reached[after.key()] = (after, f"{path} > {name}")
                queue.append(after)
    return reached


def check(world: World, path: str) -> None:
    one = world.migration
    if world.new == "placed" and world.departed:
        assert world.old in {"gone", "ended"}, f"two copies: {path}"
    if not one.open:
        assert migrations.reservations(one, ()) == (), f"a reservation is kept: {path}"
    if one.phase is P.ABORTED:
        # without its owner there is nothing left to go on anywhere
        assert not world.departed or not world.owner, f"aborted after the pod left: {path}"
    if world.departed:
        phases = [phase for phase, _ in one.transitions]
        assert P.CHECKPOINTED in phases, f"left without an ack: {path}"
        assert P.EVICTING in phases, path


def settled(world: World) -> World:
    """Let all parts act until nothing is left to do, and time pass if all wait."""
    for _ in range(MOST_FAIR_STEPS):
        moves = [after for _, after in [*passes(world), *fair(world)]]
        after = next((after for after in moves if after.key() != world.key()), None)
        if after is not None:
            world = after
        elif world.migration.open:
            world = later(world)
        else:
            break
    return world


def quiet(world: World) -> World:
    """Return the same world without further faults."""
    return replace(world, faults=0)


@pytest.mark.parametrize("mover", Mover)
def test_the_invariant_holds_on_every_path_and_every_migration_ends(mover: Mover) -> None:
    reached = explored(mover)
    assert len(reached) > LEAST_WORLDS
    ends: dict[object, World] = {}
    for world, path in reached.values():
        calm = quiet(world)
        if calm.key() in ends:
            continue
        last = ends[calm.key()] = settled(calm)
        assert not last.migration.open, f"{last.migration.phase} for ever: {path}"
        assert not last.suspended, f"suspended for ever: {path}"
        assert not (last.old == "runs" and last.trainer == "holds" and last.agent), path
        if mover is Mover.RECREATE and last.departed and not last.refused:
            assert last.new != "none", f"a bare pod is lost: {path}"
