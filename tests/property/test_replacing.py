"""Laws of replacing bare pods, under all faults and actions of others (defects E1, E2, E3)."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.controlplane.moving.copies import member
from tests.property.replacing import NAMES, SIZE, Luck, World

STEPS = st.one_of(
    st.tuples(st.just("cycle"), st.sampled_from([1.0, 6.0, 31.0])),
    st.tuples(st.just("deliver"), st.sampled_from([1, 3, 100])),
    st.tuples(st.just("bind"), st.integers(0, SIZE - 1)),
    st.tuples(st.just("end"), st.just(0)),
    st.tuples(st.just("remove"), st.sampled_from("ab")),
    st.tuples(st.just("put"), st.sampled_from("ab")),
    st.tuples(st.just("delete"), st.sampled_from(NAMES)),
    st.tuples(st.just("restart"), st.just(0)),
)
LUCK = st.lists(st.sampled_from([Luck.GOOD] * 4 + list(Luck)), max_size=25)
DELETIONS = st.lists(st.sampled_from([None] * 9 + list(NAMES)), max_size=25)
BROKEN = (("cycle", 1.0), ("deliver", 100), ("bind", 0), ("remove", "a"), ("remove", "b"))
"""A gang that is released, of which one member is bound, and whose nodes are gone."""
WHOLE = (("cycle", 1.0), *[("bind", 0)] * SIZE, ("delete", NAMES[0]), ("deliver", 100))
"""A gang of which every member is bound, and one is lost, between two cycles."""


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extender.writers.replacing.REVOKE_WAITS_SECONDS", (0, 0, 0))


def step(world, what, value):
    acts = {
        "cycle": world.cycle,
        "deliver": world.deliver,
        "bind": world.bind,
        "remove": world.remove_node,
        "put": world.put_node,
        "delete": world.delete,
        "end": lambda _: world.end_pods(),
        "restart": lambda _: world.restart(),
    }
    acts[what](value)
    world.check()


def settle(world):
    """No request fails any more, no user acts, and there is room."""
    world.luck.clear()
    world.deletions.clear()
    for name in "ab":
        world.put_node(name)
    for _ in range(12):
        world.deliver()
        world.cycle(61.0)
        world.deliver()
        world.end_pods()
        for index in range(SIZE):
            world.bind(index)
    world.deliver()


@settings(deadline=None)
@given(begin=st.sampled_from([(), BROKEN, WHOLE]), steps=st.lists(STEPS, max_size=25), luck=LUCK)
def test_there_is_at_most_one_living_copy_of_each_member_and_in_the_end_one(begin, steps, luck):
    world = World()
    for one in begin:
        step(world, *one)
    world.luck = luck
    for one in steps:
        step(world, *one)
    settle(world)
    there = Counter(member(pod) for pod in world.pods())
    assert all(count == 1 for count in there.values()), there
    assert set(NAMES) - set(there) <= set(world.unwanted), "a member is lost"
    world.store.check_invariants()


@pytest.mark.parametrize("name", NAMES)
def test_a_deletion_by_a_user_is_seen_before_each_request(name):
    for before in range(4 * SIZE):
        world = World()
        for one in BROKEN:
            step(world, *one)
        world.deletions = [None] * before + [name]
        for seconds in (1.0, 31.0, 31.0):
            world.deliver()
            world.cycle(seconds)
        unwanted = world.unwanted.get(name, False)
        settle(world)
        there = {member(pod) for pod in world.pods()}
        assert not (unwanted and name in there), f"deleted before request {before}, and back"


@settings(deadline=None)
@given(steps=st.lists(STEPS, max_size=15), luck=LUCK, deletions=DELETIONS)
def test_a_pod_that_a_user_deletes_while_it_is_replaced_does_not_come_back(steps, luck, deletions):
    """Except where our deletion came first, or it is unknown whether it did: docs/adr/0013."""
    world = World()
    for one in BROKEN:
        step(world, *one)
    world.deliver()
    world.luck, world.deletions = luck, deletions
    for one in [("cycle", 1.0), ("cycle", 31.0), *steps]:
        step(world, *one)
    settle(world)
    there = Counter(member(pod) for pod in world.pods())
    assert all(count == 1 for count in there.values()), there
    assert set(NAMES) - set(there) <= set(world.unwanted), "a member is lost"
    for name, unwanted in world.unwanted.items():
        assert not (unwanted and there[name]), f"{name} is a ghost"
