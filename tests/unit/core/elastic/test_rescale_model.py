"""Every way in which a change of workers can go, with something going wrong; two things nightly."""

from collections import deque
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from extender.core.records.rescale import Phase
from tests.unit.core.elastic.workers_model import World, fair, later, looks, start, unfair

MOST_FAIR_STEPS = 80
LEAST_WORLDS = 500
"""So that the model never becomes one in which nothing happens."""

STARTS = {
    "shrink after a checkpoint": start("checkpoint", 2),
    "shrink by ending": start("terminate", 2),
    "grow": start("checkpoint", 4),
    "pause after a checkpoint": start("checkpoint", 0),
    "pause by ending": start("terminate", 0),
    "come back": start("checkpoint", 4, paused=True),
}


def steps(world: World) -> Iterator[tuple[str, World]]:
    yield from looks(world)
    yield from fair(world)
    yield from unfair(world)
    yield "time", later(world)


def explored(first: World) -> dict[object, tuple[World, str]]:
    """Every world that can be reached, each with how it was reached."""
    seen: dict[object, tuple[World, str]] = {first.key(): (first, "")}
    queue = deque([first])
    while queue:
        world = queue.popleft()
        path = seen[world.key()][1]
        for name, after in steps(world):
            check(first, after, f"{path} > {name}")
            if after.key() not in seen:
                seen[after.key()] = (after, f"{path} > {name}")
                queue.append(after)
    return seen


def check(first: World, world: World, path: str) -> None:
    """Never a number twice: one for the change, and one that gives growth back."""
    assert first.goal is not None
    to, given_back = first.goal.to, 1 if first.goal.to > first.owner.number else 0
    assert len(world.writes) <= 1 + given_back, path
    assert world.writes[:1] in {(), (to,)}, path
    assert all(number < to for number in world.writes[1:]), path


def settled(world: World) -> World:
    """Let all parties act until nothing is left to do, and time pass while all wait."""
    for _ in range(MOST_FAIR_STEPS):
        moves = [after for _, after in [*looks(world), *fair(world)]]
        after = next((after for after in moves if after.key() != world.key()), None)
        if after is not None:
            world = after
        elif world.owner.rescale is not None and world.owner.rescale.open:
            world = later(world)
        else:
            break
    return world


def expected_end(world: World) -> None:
    """Check the state at rest, unless another client has changed the owner."""
    one = world.owner.rescale
    assert one is not None
    if world.foreign:
        return
    if one.phase is Phase.DONE:
        assert (0 if world.owner.suspended else world.owner.number) == one.to
    else:
        assert world.writes == ()


@pytest.mark.parametrize("first", STARTS.values(), ids=STARTS)
@pytest.mark.parametrize("faults", [1, pytest.param(2, marks=pytest.mark.e2e)])
def test_no_worker_is_lost_and_every_change_ends_under_all_faults(
    first: World, faults: int
) -> None:
    seen = explored(replace(first, faults=faults))
    assert len(seen) > LEAST_WORLDS
    ends: dict[object, World] = {}
    for world, path in seen.values():
        calm = replace(world, faults=0, goal=None)
        if calm.key() in ends or world.owner.rescale is None:
            continue
        last = ends[calm.key()] = settled(calm)
        one = last.owner.rescale
        assert one is not None
        assert not one.open, f"{one.phase} for ever: {path}"
        running = last.workers[0] == "runs" and last.trainer == "holds"
        assert not (running and last.agent), f"holds for ever: {path}"
        expected_end(last)


@pytest.mark.parametrize("first", STARTS.values(), ids=STARTS)
def test_if_nothing_goes_wrong_the_job_has_what_was_proposed(first: World) -> None:
    last = settled(replace(first, faults=0))
    assert first.goal is not None
    assert last.owner.rescale is not None
    assert (last.owner.rescale.phase, last.owner.rescale.why) == (Phase.DONE, "")
    assert sum(state == "runs" for state in last.workers) == first.goal.to
    assert last.writes == (first.goal.to,)
