"""Nodes that run short are filled: by Algorithm 3, or by count balancing."""

from dataclasses import replace as with_fields

from msgspec.structs import replace

from extender.core.migration.decision import MigrationState
from extender.core.parameters.migration import (
    MigrationParameters,
    MigrationPolicy,
    RebalanceParameters,
    RebalanceWhen,
)
from shared.model import MigrationPhase as P
from shared.model import Trigger
from tests.fakes.migrations import make_member, make_migration
from tests.unit.core.migration.migrating_cluster import (
    CC,
    NOW,
    Train,
    job_owner,
    looked,
    made,
    moves,
    reasons,
    yard,
)

ALGORITHM_3 = MigrationParameters(cooldown_seconds=0)
COUNT = MigrationParameters(policy=MigrationPolicy.COUNT, cooldown_seconds=0)
WIDE = with_fields(COUNT, most_open=9, most_open_per_node=9)


def brought(name, trigger=Trigger.CONVERGED, at=NOW - 500):
    """The migration that brought a pod to where it is."""
    member = make_member(f"{name}-old", replacement=name, replacement_uid=f"default-{name}")
    made = make_migration(
        name=f"{name}-{trigger}",
        phase=P.COMPLETED,
        transitions=[(P.COMPLETED, at)],
        trigger=trigger,
    )
    return replace(made, members=(member,))


def brought_twice(name, first, last):
    """Two migrations, one after the other."""
    back = make_member(
        f"{name}-older", replacement=f"{name}-old", replacement_uid=f"default-{name}-old"
    )
    before = replace(brought(f"{name}-old", first, NOW - 900), members=(back,))
    return before, brought(name, last)


def test_a_migrated_job_goes_to_a_node_that_ran_empty_once():
    nodes = {"a": ["m:CC", "f1", "f2"], "b": []}
    look = looked(yard(nodes, brought("m")), ALGORITHM_3)
    assert moves(look) == [("m", "a", "b")]
    assert [one.trigger for one in made(look)] == [Trigger.REBALANCE]
    twice = brought_twice("m", Trigger.CONVERGED, Trigger.REBALANCE)
    assert moves(looked(yard(nodes, *twice), ALGORITHM_3)) == []


def test_a_job_that_was_left_where_it_is_may_be_rebalanced_too():
    nodes = {"a": ["m:CC", "f1", "f2"], "b": []}
    memory = MigrationState(stayed={"default-m": NOW - 100})
    (one,) = made(looked(yard(nodes), ALGORITHM_3, memory))
    assert one.trigger is Trigger.REBALANCE


def test_a_job_that_never_migrated_is_not_rebalanced():
    assert moves(looked(yard({"a": ["m", "f1", "f2"], "b": []}), ALGORITHM_3)) == []


def test_rebalancing_can_be_left_to_when_all_have_converged():
    when = RebalanceParameters(when=RebalanceWhen.ALL_CONVERGED)
    params = with_fields(ALGORITHM_3, rebalance=when)
    some = {"a": ["m:CC", "f1", Train("f2", CC, annotations={})], "b": []}
    assert moves(looked(yard(some, brought("m")), params)) == []
    closed = [Train(name, CC, annotations={}) for name in ("f1", "f2")]
    everyone = {"a": ["m:CC", *closed], "b": []}
    assert moves(looked(yard(everyone, brought("m")), params)) == [("m", "a", "b")]


def test_a_move_that_gains_too_little_is_not_made():
    nodes = {"a": [Train("m", CC, remaining_seconds=20.0), "f1", "f2"], "b": []}
    look = looked(yard(nodes, brought("m")), ALGORITHM_3)
    assert (moves(look), reasons(look)["m"]) == ([], "GainTooSmall")


def test_count_balancing_moves_any_job_from_the_fullest_to_the_emptiest():
    look = looked(yard({"a": ["m", "n", "o"], "b": []}), COUNT)
    assert [(source, target) for _, source, target in moves(look)] == [("a", "b")]
    assert made(look)[0].why.startswith("count balancing: share 0.33 to 1.00")
    assert moves(looked(yard({"a": ["m", "n"], "b": ["o"]}), COUNT)) == []


def test_count_balancing_plans_as_many_moves_as_the_budget_has_room_for():
    nodes = {"a": ["m", "n", "o", "p"], "b": [], "c": []}
    assert len(moves(looked(yard(nodes), WIDE))) == 2
    look = looked(yard(nodes), COUNT)
    assert len(moves(look)) == 1
    assert set(reasons(look).values()) == {"NodeBudgetUsedUp"}


def test_count_balancing_rests_and_ends():
    nodes = {"a": ["m", "f1", "f2"], "b": []}
    only = {"annotations": {}}
    nodes["a"][1:] = [Train("f1", **only), Train("f2", **only)]
    assert moves(looked(yard(nodes, brought("m", Trigger.COUNT, NOW - 61)), COUNT))
    assert moves(looked(yard(nodes, brought("m", Trigger.COUNT, NOW - 59)), COUNT)) == []
    twice = brought_twice("m", Trigger.COUNT, Trigger.COUNT)
    assert reasons(looked(yard(nodes, *twice), COUNT))["m"] == "MovesUsedUp"


def test_gangs_are_left_out():
    owner = job_owner("g", size=2)
    gang = [Train(f"g-{i}", owner=owner, pod={"index": i}) for i in range(2)]
    assert moves(looked(yard({"a": gang, "b": []}), COUNT)) == []


def test_who_cannot_be_moved_says_why():
    look = looked(yard({"a": [Train("m", annotations={}), "n", "o"], "b": []}), COUNT)
    assert reasons(look)["m"] == "NotOptedIn"


def test_a_pod_on_its_way_counts_where_it_goes():
    open_one = make_migration(make_member("m"), phase=P.CHECKPOINTED, job="default/pod/m")
    assert moves(looked(yard({"a": ["m", "n"], "b": []}, open_one), WIDE)) == []
