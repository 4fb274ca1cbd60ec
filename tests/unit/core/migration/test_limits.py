"""Limits of migrations: moves of a job, cooldowns, open migrations."""

from dataclasses import replace as with_fields

from msgspec.structs import replace

from extender.core.parameters.migration import (
    TargetParameters,
)
from shared import labels
from shared.model import MigrationPhase as P
from shared.model import Trigger
from tests.fakes.migrations import make_member, make_migration
from tests.unit.core.migration.migrating_cluster import (
    ALGORITHM_2,
    CC,
    CROWD,
    NOW,
    Train,
    cluster_of,
    ended,
    moves,
    reasons,
    run_pass,
)


def moved_before(count=1, trigger=Trigger.CONVERGED, phase=P.COMPLETED, **fields):
    """Return the migrations that moved the pod m, the latest first."""
    migrations, uid = [], "default-m"
    for i in range(count):
        member = make_member(f"m{i}", replacement="m", replacement_uid=uid)
        migrations.append(ended(phase, trigger=trigger, name=f"m-{i}", uid=f"u{i}", **fields))
        migrations[-1] = replace(migrations[-1], members=(member,))
        uid = f"default-m{i}"
    return migrations


def test_one_move_counts_for_the_next():
    nodes = {"a": ["m:CC", "n:CC", "f1", "f2"], "b": [], "c": []}
    params = with_fields(ALGORITHM_2, most_open_per_node=2)
    assert moves(run_pass(cluster_of(nodes), params)) == [("m", "a", "b"), ("n", "a", "c")]
    outcome = run_pass(cluster_of(nodes))
    assert moves(outcome) == [("m", "a", "b")]
    assert reasons(outcome) == {"n": "NodeBudgetUsedUp"}


def test_an_open_migration_counts_for_budgets_and_scores():
    open_one = make_migration(make_member("f1"), phase=P.CHECKPOINTED, job="default/pod/f1")
    outcome = run_pass(cluster_of(CROWD, open_one))
    assert reasons(outcome) == {"m": "NodeBudgetUsedUp"}
    params = with_fields(ALGORITHM_2, most_open_per_node=2)
    assert moves(run_pass(cluster_of(CROWD, open_one), params)) == [("m", "a", "c")]
    assert reasons(run_pass(cluster_of(CROWD, open_one), with_fields(params, most_open=1))) == {
        "m": "BudgetUsedUp"
    }


def test_a_moving_pod_requests_no_other_move():
    open_one = make_migration(make_member("m"), phase=P.CHECKPOINTED, job="default/pod/m")
    outcome = run_pass(cluster_of(CROWD, open_one), with_fields(ALGORITHM_2, most_open_per_node=9))
    assert moves(outcome) == []
    assert reasons(outcome) == {}


def test_a_job_moves_once_by_default():
    assert reasons(run_pass(cluster_of(CROWD, *moved_before()))) == {"m": "MovesUsedUp"}
    params = with_fields(ALGORITHM_2, most_moves_per_job=2)
    assert moves(run_pass(cluster_of(CROWD, *moved_before()), params)) == [("m", "a", "b")]
    assert reasons(run_pass(cluster_of(CROWD, *moved_before(2)), params)) == {"m": "MovesUsedUp"}


def test_a_failed_move_counts_and_an_aborted_one_does_not():
    assert reasons(run_pass(cluster_of(CROWD, *moved_before(phase=P.FAILED)))) == {
        "m": "MovesUsedUp"
    }
    aborted = ended(P.ABORTED, job="default/pod/m")
    aborted = replace(aborted, members=(make_member("m"),))
    assert moves(run_pass(cluster_of(CROWD, aborted))) == [("m", "a", "b")]


def test_a_bare_pod_whose_record_is_gone_was_moved_once():
    notes = {labels.CHECKPOINT: "", labels.MIGRATION: "default/long-gone"}
    outcome = run_pass(cluster_of({"a": [Train("m", CC, annotations=notes), "f1", "f2"], "b": []}))
    assert reasons(outcome) == {"m": "MovesUsedUp"}


def test_the_cooldown_doubles_after_each_abort():
    def aborted(count, ended_at):
        made = ended(P.ABORTED, ended_at=ended_at, job="default/pod/m")
        return [
            replace(made, name=f"m-{i}", uid=f"u{i}", members=(make_member("m"),))
            for i in range(count)
        ]

    assert reasons(run_pass(cluster_of(CROWD, *aborted(1, NOW - 119)))) == {"m": "CoolingDown"}
    assert moves(run_pass(cluster_of(CROWD, *aborted(1, NOW - 121))))
    assert reasons(run_pass(cluster_of(CROWD, *aborted(3, NOW - 479)))) == {"m": "CoolingDown"}
    assert moves(run_pass(cluster_of(CROWD, *aborted(3, NOW - 481))))


def test_staying_counts_as_a_move_unless_disabled():
    nodes = {"a": ["m:CC", "f1"], "b": ["x"]}
    state = run_pass(cluster_of(nodes)).state
    assert state.stayed == {"default-m": NOW}
    assert reasons(run_pass(cluster_of(CROWD), state=state)) == {"m": "MovesUsedUp"}
    params = with_fields(ALGORITHM_2, target=TargetParameters(stay_counts_as_move=False))
    assert moves(run_pass(cluster_of(CROWD), params, state))
