"""Moves to nodes with few containers: by Algorithm 3, or by count balancing."""

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
    cluster_of,
    created,
    job_owner,
    moves,
    reasons,
    run_pass,
)

ALGORITHM_3 = MigrationParameters(cooldown_seconds=0)
COUNT = MigrationParameters(policy=MigrationPolicy.COUNT, cooldown_seconds=0)
WIDE = with_fields(COUNT, most_open=9, most_open_per_node=9)


def moved_by(name, trigger=Trigger.CONVERGED, at=NOW - 500):
    """Return the migration that moved a pod to its node."""
    member = make_member(f"{name}-old", replacement=name, replacement_uid=f"default-{name}")
    made = make_migration(
        name=f"{name}-{trigger}",
        phase=P.COMPLETED,
        transitions=[(P.COMPLETED, at)],
        trigger=trigger,
    )
    return replace(made, members=(member,))


def moved_twice(name, first, last):
    """Return two migrations, one after the other."""
    back = make_member(
        f"{name}-older", replacement=f"{name}-old", replacement_uid=f"default-{name}-old"
    )
    before = replace(moved_by(f"{name}-old", first, NOW - 900), members=(back,))
    return before, moved_by(name, last)


def test_a_migrated_job_is_rebalanced_once():
    nodes = {"a": ["m:CC", "f1", "f2"], "b": []}
    outcome = run_pass(cluster_of(nodes, moved_by("m")), ALGORITHM_3)
    assert moves(outcome) == [("m", "a", "b")]
    assert [m.trigger for m in created(outcome)] == [Trigger.REBALANCE]
    twice = moved_twice("m", Trigger.CONVERGED, Trigger.REBALANCE)
    assert moves(run_pass(cluster_of(nodes, *twice), ALGORITHM_3)) == []


def test_a_job_that_stayed_may_be_rebalanced_too():
    nodes = {"a": ["m:CC", "f1", "f2"], "b": []}
    state = MigrationState(stayed={"default-m": NOW - 100})
    (one,) = created(run_pass(cluster_of(nodes), ALGORITHM_3, state))
    assert one.trigger is Trigger.REBALANCE


def test_a_job_that_never_migrated_is_not_rebalanced():
    assert moves(run_pass(cluster_of({"a": ["m", "f1", "f2"], "b": []}), ALGORITHM_3)) == []


def test_rebalancing_may_wait_until_all_have_converged():
    when = RebalanceParameters(when=RebalanceWhen.ALL_CONVERGED)
    params = with_fields(ALGORITHM_3, rebalance=when)
    some = {"a": ["m:CC", "f1", Train("f2", CC, annotations={})], "b": []}
    assert moves(run_pass(cluster_of(some, moved_by("m")), params)) == []
    closed = [Train(name, CC, annotations={}) for name in ("f1", "f2")]
    everyone = {"a": ["m:CC", *closed], "b": []}
    assert moves(run_pass(cluster_of(everyone, moved_by("m")), params)) == [("m", "a", "b")]


def test_a_move_with_too_small_a_gain_is_not_proposed():
    nodes = {"a": [Train("m", CC, remaining_seconds=20.0), "f1", "f2"], "b": []}
    outcome = run_pass(cluster_of(nodes, moved_by("m")), ALGORITHM_3)
    assert (moves(outcome), reasons(outcome)["m"]) == ([], "GainTooSmall")


def test_count_balancing_moves_any_job_from_the_fullest_to_the_emptiest():
    outcome = run_pass(cluster_of({"a": ["m", "n", "o"], "b": []}), COUNT)
    assert [(source, target) for _, source, target in moves(outcome)] == [("a", "b")]
    assert created(outcome)[0].why.startswith("count balancing: share 0.33 to 1.00")
    assert moves(run_pass(cluster_of({"a": ["m", "n"], "b": ["o"]}), COUNT)) == []


def test_count_balancing_plans_as_many_moves_as_the_budget_has_room_for():
    nodes = {"a": ["m", "n", "o", "p"], "b": [], "c": []}
    assert len(moves(run_pass(cluster_of(nodes), WIDE))) == 2
    outcome = run_pass(cluster_of(nodes), COUNT)
    assert len(moves(outcome)) == 1
    assert set(reasons(outcome).values()) == {"NodeBudgetUsedUp"}


def test_count_balancing_keeps_its_pause_and_its_most_moves():
    nodes = {"a": ["m", "f1", "f2"], "b": []}
    only = {"annotations": {}}
    nodes["a"][1:] = [Train("f1", **only), Train("f2", **only)]
    assert moves(run_pass(cluster_of(nodes, moved_by("m", Trigger.COUNT, NOW - 61)), COUNT))
    assert moves(run_pass(cluster_of(nodes, moved_by("m", Trigger.COUNT, NOW - 59)), COUNT)) == []
    twice = moved_twice("m", Trigger.COUNT, Trigger.COUNT)
    assert reasons(run_pass(cluster_of(nodes, *twice), COUNT))["m"] == "MovesUsedUp"


def test_gangs_are_left_out():
    owner = job_owner("g", size=2)
    gang = [Train(f"g-{i}", owner=owner, pod={"index": i}) for i in range(2)]
    assert moves(run_pass(cluster_of({"a": gang, "b": []}), COUNT)) == []


def test_a_job_that_cannot_be_moved_gets_a_reason():
    outcome = run_pass(cluster_of({"a": [Train("m", annotations={}), "n", "o"], "b": []}), COUNT)
    assert reasons(outcome)["m"] == "NotOptedIn"


def test_a_moving_pod_counts_on_its_target():
    open_one = make_migration(make_member("m"), phase=P.CHECKPOINTED, job="default/pod/m")
    assert moves(run_pass(cluster_of({"a": ["m", "n"], "b": []}, open_one), WIDE)) == []
