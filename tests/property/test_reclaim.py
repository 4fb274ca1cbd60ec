"""Laws of the reclaim of guaranteed shares, against all sets of jobs on small clusters."""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from shared.model import Entity
from tests.unit.core.preemption.sharing_cluster import CPUS, NOW, guaranteed, job, proposed

RESTART_SECONDS: Final = 60.0
"""The default, and what a job loses beside what it has not saved."""
TEAMS: Final = ("a", "b", "c")


@dataclass(frozen=True)
class Spec:
    """A job; ``since`` when it runs, which is also when it last saved."""

    key: str
    size: int
    since: float = 0.0

    @property
    def team(self) -> str:
        return self.key.partition("/")[0]

    @property
    def cost(self) -> float:
        return self.size * (RESTART_SECONDS + NOW - self.since)


@dataclass(frozen=True)
class World:
    """Jobs, and what each team is guaranteed, in eighths."""

    running: tuple[Spec, ...]
    waiting: tuple[Spec, ...]
    owed: dict[str, int]

    def entities(self) -> list[list[Entity]]:
        shares = {team: str(eighths / CPUS) for team, eighths in self.owed.items()}
        runs = (job(one.key, one.size, runs=True, since=one.since) for one in self.running)
        waits = (job(one.key, one.size, runs=False) for one in self.waiting)
        return [guaranteed(**shares), *runs, *waits]

    def held(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for one in self.running:
            found[one.team] += one.size
        return found

    @property
    def free(self) -> int:
        return CPUS - sum(one.size for one in self.running)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A full or nearly full node: as many of the jobs run as fit, in order."""
    sizes = draw(st.lists(st.tuples(st.sampled_from(TEAMS), st.integers(1, 4)), max_size=7))
    running: list[Spec] = []
    for number, (team, size) in enumerate(sizes):
        if size <= CPUS - sum(one.size for one in running):
            since = NOW - draw(st.integers(400, 5000))
            running.append(Spec(f"{team}/r{number}", size, since))
    wanted = draw(st.lists(st.tuples(st.sampled_from(TEAMS), st.integers(1, 5)), max_size=4))
    waiting = tuple(Spec(f"{team}/w{n}", size) for n, (team, size) in enumerate(wanted))
    cuts = sorted(draw(st.tuples(*[st.integers(0, CPUS)] * 2)))
    owed = {"a": cuts[0], "b": cuts[1] - cuts[0], "c": CPUS - cuts[1]}
    return World(tuple(running), waiting, owed)


def sets_for(world: World, starter: Spec) -> list[tuple[Spec, ...]]:
    """Return all sets of jobs that may leave for one, from the definition."""
    held, owed = world.held(), world.owed
    if held[starter.team] + starter.size > owed[starter.team] or starter.size <= world.free:
        return []
    others = [one for one in world.running if one.team != starter.team]
    found = []
    for count in range(1, len(others) + 1):
        for some in combinations(others, count):
            gone = Counter[str]()
            for one in some:
                gone[one.team] += one.size
            keeps = all(
                held[team] > owed[team] and held[team] - size >= owed[team]
                for team, size in gone.items()
            )
            if keeps and world.free + sum(gone.values()) >= starter.size:
                found.append(some)
    return found


def after(world: World, leave: set[str], start: str) -> World:
    starter = next(one for one in world.waiting if one.key == start)
    kept = tuple(one for one in world.running if one.key not in leave)
    began = Spec(starter.key, starter.size, NOW - 400)
    left = (one for one in world.running if one.key in leave)
    waiting = tuple(one for one in world.waiting if one is not starter)
    return World((*kept, began), (*waiting, *left), world.owed)


@given(worlds())
def test_reclaims_end_take_no_team_below_its_share_and_cost_as_little_as_can_be(
    world: World,
) -> None:
    """A job that was parked may reclaim, too; what is free otherwise stays free."""
    reclaims = 0
    while (found := proposed(*world.entities())) is not None:
        reclaims += 1
        assert reclaims <= CPUS
        leave = {key.replace("/job/", "/") for key in found.jobs}
        start = str(found.starts).replace("/job/", "/")
        starter = next(one for one in world.waiting if one.key == start)
        victims = tuple(one for one in world.running if one.key in leave)
        allowed = sets_for(world, starter)
        assert {frozenset(one.key for one in some) for some in allowed} >= {frozenset(leave)}
        assert sum(one.cost for one in victims) == min(
            sum(one.cost for one in some) for some in allowed
        )
        before, world = world, after(world, leave, start)
        for team in TEAMS:
            least = min(before.held()[team], world.owed[team])
            assert world.held()[team] >= least
        assert world.held()[starter.team] <= world.owed[starter.team]
    for starter in world.waiting:
        assert not sets_for(world, starter), "a guaranteed share was not given back"
