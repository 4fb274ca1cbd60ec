"""Which jobs begin to move, why others stay, and which old objects are deleted."""

from dataclasses import replace as with_fields

import pytest
from msgspec.structs import replace

from extender.core.migration.commands import (
    CommandResult,
    CreateMigration,
    EvictPod,
    RemoveMigration,
    Result,
    ResumeJob,
)
from extender.core.migration.decision import MigrationState
from extender.core.parameters.migration import (
    GainParameters,
    MigrationParameters,
    MigrationPolicy,
    TargetParameters,
)
from extender.core.records.migration_reasons import MigrationReason as R
from shared import labels
from shared.model import MigrationPhase as P
from shared.model import Mover
from shared.progress import Category, Checkpoint
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.fakes.migrations import make_member, make_migration
from tests.unit.core.migration.migrating_cluster import (
    ALGORITHM_2,
    CC,
    CROWD,
    MONOTONIC,
    NOW,
    Train,
    cluster_of,
    created,
    ended,
    job_owner,
    moves,
    reasons,
    run_pass,
    train,
)


def test_a_converged_job_goes_to_the_node_with_the_lowest_score():
    outcome = run_pass(cluster_of({"a": ["m:CC", "f1"], "b": ["x", "y"], "c": ["z"]}))
    assert moves(outcome) == []
    assert reasons(outcome) == {"m": "BestNodeAlready"}
    assert moves(
        run_pass(cluster_of({"a": ["m:CC", "f1", "f2"], "b": ["x", "y"], "c": ["z:CC"]}))
    ) == [("m", "a", "c")]


def test_the_job_that_converged_first_is_examined_first():
    first, second = Train("late", CC, converged_at=950.0), Train("early", CC, converged_at=910.0)
    params = with_fields(ALGORITHM_2, most_open=1)
    outcome = run_pass(cluster_of({"a": [first, second, "f1", "f2"], "b": []}), params)
    assert moves(outcome) == [("early", "a", "b")]
    assert reasons(outcome) == {"late": "BudgetUsedUp"}


def test_a_new_migration_records_its_cause_and_its_gain():
    (one,) = created(run_pass(cluster_of(CROWD)))
    assert (one.job, one.trigger, one.mover) == ("default/pod/m", "converged", "recreate")
    assert one.name.startswith("m-")
    assert len(one.name) == len("m-12345678")
    assert one.why == ("converged: share 0.33 to 1.00, saves 6667 s with 10000 s left, costs 30 s")
    assert (one.gain_seconds, one.cost_seconds) == (6666.667, 30.0)
    assert [m.asked for m in one.members] == [True]


def test_the_same_move_has_the_same_name_until_the_name_is_taken():
    snapshot = cluster_of(CROWD)
    (one,) = created(run_pass(snapshot))
    assert created(run_pass(snapshot)) == [one]
    params = with_fields(ALGORITHM_2, cooldown_seconds=0)
    past = replace(one, phase=P.ABORTED, uid="x", transitions=((P.ABORTED, NOW - 1),))
    (two,) = created(run_pass(cluster_of(CROWD, past), params))
    assert two.name != one.name


def test_a_new_migration_has_an_event_on_its_pod():
    (command,) = [c for c in run_pass(cluster_of(CROWD)).commands if isinstance(c, CreateMigration)]
    assert (command.event.reason, command.event.about.kind) == ("Migrating", "Pod")
    assert command.event.message.startswith("a to b: converged")


STAYS: dict[str, tuple[dict, R]] = {
    "no fast peer on its node": ({"a": ["m:CC", "x:CC"], "b": []}, R.NO_FAST_PEERS),
    "no node with a lower score": ({"a": ["m:CC", "f1"], "b": ["x"]}, R.BEST_NODE_ALREADY),
    "no other node has room": (
        {"a": ["m:CC", "f1"], "b": [f"x{i}" for i in range(4)]},
        R.NO_NODE_FITS,
    ),
    "it is not opted in": (
        {"a": [Train("m", CC, annotations={}), "f1", "f2"], "b": []},
        R.NOT_OPTED_IN,
    ),
    "it was not queued with our gate": (
        {"a": [Train("m", CC, plan=""), "f1", "f2"], "b": []},
        R.GATE_REQUIRED,
    ),
    "it ends soon": (
        {"a": [Train("m", CC, remaining_seconds=20.0), "f1", "f2"], "b": []},
        R.GAIN_TOO_SMALL,
    ),
    "no report of its trainer": (
        {"a": [Train("m", CC, checkpoint=None), "f1", "f2"], "b": []},
        R.TRAINER_SILENT,
    ),
    "its directory cannot be seen": (
        {
            "a": [
                Train("m", CC, checkpoint=Checkpoint(problem="CheckpointUnreachable")),
                "f1",
                "f2",
            ],
            "b": [],
        },
        R.CHECKPOINT_UNREACHABLE,
    ),
    "the agent reports an unknown problem": (
        {"a": [Train("m", CC, checkpoint=Checkpoint(problem="Moonphase")), "f1", "f2"], "b": []},
        R.MISCONFIGURED,
    ),
    "its training is done": (
        {"a": [Train("m", CC, checkpoint=Checkpoint(done=True)), "f1", "f2"], "b": []},
        R.TRAINING_DONE,
    ),
    "its checkpoint directory is not its own": (
        {"a": [Train("m", CC, annotations={labels.CHECKPOINT: "../x"}), "f1", "f2"], "b": []},
        R.MISCONFIGURED,
    ),
}


@pytest.mark.parametrize(("nodes", "reason"), STAYS.values(), ids=STAYS)
def test_a_converged_job_stays_if(nodes, reason):
    outcome = run_pass(cluster_of(nodes))
    assert moves(outcome) == []
    assert reasons(outcome)["m"] == reason


def test_a_node_without_a_report_is_neither_source_nor_target():
    assert moves(run_pass(cluster_of(CROWD, silent=["a"]))) == []
    assert moves(run_pass(cluster_of(CROWD, silent=["b"]))) == [("m", "a", "c")]


def test_a_stale_report_is_ignored():
    snapshot = cluster_of(CROWD)
    assert moves(run_pass(snapshot, stale_seconds=1.0)) == [("m", "a", "b")]
    late = {n: replace(r, received_at=MONOTONIC - 2) for n, r in snapshot.reports.items()}
    assert moves(run_pass(with_fields(snapshot, reports=late), stale_seconds=1.0)) == []


def test_a_job_on_a_node_with_spare_cpu_gains_nothing():
    outcome = run_pass(cluster_of(CROWD, busy=[]))
    assert reasons(outcome) == {"m": "GainTooSmall"}


def test_a_larger_share_is_enough_if_the_remaining_time_is_unknown():
    nodes = {"a": [Train("m", CC, remaining_seconds=None), "f1", "f2"], "b": []}
    assert moves(run_pass(cluster_of(nodes))) == [("m", "a", "b")]


def test_the_cost_of_a_move_is_measured():
    past = ended(P.COMPLETED, name="x")
    past = replace(past, members=(make_member("x", ack_seconds=5.0),))
    (one,) = created(run_pass(cluster_of(CROWD, past)))
    assert one.cost_seconds == 21.0  # the trainer's own saving 1 s, and 20 s from ack to resumption


def test_an_opted_in_job_without_progress_is_declined_until_it_reports():
    state = run_pass(cluster_of({"a": ["m:?", Train("n", None, annotations={})], "b": []})).state
    assert {key: d.reason for key, d in state.declined.items()} == {"default/pod/m": "NoProgress"}
    assert reasons(run_pass(cluster_of({"a": ["m", "n"], "b": []}), state=state)) == {}


@pytest.mark.parametrize("writer", [0, 1])
def test_a_gang_of_which_one_rank_writes_metrics_has_progress(writer: int):
    owner = job_owner("g", size=2, active=2)
    ranks = [Train(f"g-{i}", None, owner=owner, pod={"index": i}) for i in range(2)]
    silent = run_pass(cluster_of({"a": list(ranks), "b": []})).state
    assert [d.reason for d in silent.declined.values()] == ["NoProgress"]
    ranks[writer] = with_fields(ranks[writer], category=Category.PROGRESSING)
    assert run_pass(cluster_of({"a": list(ranks), "b": []})).state.declined == {}
    assert run_pass(cluster_of({"a": list(ranks), "b": []}), state=silent).state.declined == {}


def test_a_request_one_tick_later_needs_a_further_value():
    params = with_fields(ALGORITHM_2, request_on_enter=False)
    at_once = {"a": [Train("m", CC, converged_at=990.0), "f1", "f2"], "b": []}
    assert moves(run_pass(cluster_of(at_once), params)) == []
    assert moves(run_pass(cluster_of(CROWD), params)) == [("m", "a", "b")]


def test_more_fast_peers_may_be_required():
    params = with_fields(ALGORITHM_2, min_fast_peers=3)
    assert reasons(run_pass(cluster_of(CROWD), params)) == {"m": "NoFastPeers"}


def test_without_a_policy_nothing_moves():
    params = MigrationParameters(policy=MigrationPolicy.NONE)
    assert run_pass(cluster_of(CROWD), params).commands == ()


def test_without_the_resource_nothing_moves():
    outcome = run_pass(cluster_of(CROWD), installed=False)
    assert (moves(outcome), reasons(outcome)) == ([], {"m": "CRDMissing"})


def test_no_migration_begins_unless_one_is_due():
    assert run_pass(cluster_of(CROWD), choose=False).commands == ()


def test_the_papers_rule_counts_the_own_container_and_ignores_gains():
    nodes = {"a": ["m:CC", "f1"], "b": ["x"]}
    params = with_fields(
        ALGORITHM_2,
        target=TargetParameters(exclude_own=False),
        gain=GainParameters(minimum_ratio=0.0),
    )
    assert moves(run_pass(cluster_of(nodes), params)) == [("m", "a", "b")]


def gang(size, category=CC, node="a", **job):
    owner = job_owner("g", size=size, **job)
    return [
        Train(f"g-{i}", category, owner=owner, pod={"index": i, "memory": "0"}) for i in range(size)
    ]


def test_a_gang_moves_whole_to_a_node_that_holds_all_of_it():
    outcome = run_pass(cluster_of({"a": [*gang(2), "f1", "f2"], "b": ["x", "y", "z"], "c": []}))
    (one,) = created(outcome)
    assert one.mover is Mover.SUSPEND
    assert moves(outcome) == [("g-0", "a", "c"), ("g-1", "a", "c")]
    assert [m.asked for m in one.members] == [True, False]


def test_a_gang_that_has_not_converged_as_a_whole_stays():
    trains = gang(2)
    trains[1].category = None  # it reports nothing: the other member counts for both
    assert moves(run_pass(cluster_of({"a": [*trains, "f1"], "b": []})))
    trains[1].category = train("x").category
    outcome = run_pass(cluster_of({"a": [*trains, "f1"], "b": []}))
    assert (moves(outcome), reasons(outcome)) == ([], {})


def test_all_members_with_a_directory_of_their_own_are_asked():
    trains = gang(2)
    for one in trains:
        one.annotations = {labels.CHECKPOINT: "rank-$(INDEX)"}
    (one,) = created(run_pass(cluster_of({"a": [*trains, "f1", "f2"], "b": []})))
    assert [m.asked for m in one.members] == [True, True]


def test_a_job_suspended_for_a_missing_migration_is_resumed():
    notes = {labels.MIGRATION: "default/gone"}
    owner = replace(job_owner(suspended=True), annotations=notes)
    (command,) = run_pass(cluster_of({"a": []}, owner), choose=False).commands
    assert command == ResumeJob("default/gone", "default", "j", owner.uid)
    foreign = replace(owner, annotations={})
    assert run_pass(cluster_of({"a": []}, foreign), choose=False).commands == ()


OLD = NOW - 90_000


def test_old_migrations_are_deleted_if_no_pod_needs_them():
    aborted = ended(P.ABORTED, ended_at=OLD, owner=make_owner("j"))
    assert run_pass(cluster_of({"a": []}, aborted), choose=False).commands == (
        RemoveMigration(aborted),
    )
    for phase in (P.COMPLETED, P.FAILED):
        bare = ended(phase, ended_at=OLD)
        assert run_pass(cluster_of({"a": []}, bare), choose=False).commands
        owned = ended(phase, ended_at=OLD, owner=make_owner("j"))
        assert run_pass(cluster_of({"a": []}, owned), choose=False).commands == ()


def test_a_migration_is_kept_while_its_pod_exists_or_a_trainer_may_hold():
    member = make_member("m0", replacement="m", replacement_uid="default-m")
    one = replace(ended(P.COMPLETED, ended_at=OLD), members=(member,))
    assert run_pass(cluster_of({"a": ["m"]}, one), choose=False).commands == ()
    aborted = ended(P.ABORTED, ended_at=OLD, hold_until=NOW + 1)
    assert run_pass(cluster_of({"a": []}, aborted), choose=False).commands == ()
    assert (
        run_pass(cluster_of({"a": []}, ended(P.ABORTED, ended_at=NOW - 5)), choose=False).commands
        == ()
    )


def evicting():
    pod = make_pod("m", node="a", plan="p")
    one = make_migration(
        make_member(pod, acked_step=1),
        job="default/pod/m",
        phase=P.EVICTING,
        request="r",
        deadline=NOW + 50,
        hold_until=NOW + 500,
    )
    return cluster_of({"a": [], "b": []}, pod, one), one


def test_a_failed_try_is_repeated_with_a_pause_that_grows_up_to_ten_seconds():
    snapshot, one = evicting()
    state = run_pass(snapshot, choose=False).state
    pauses = []
    for _ in range(6):
        outcome = CommandResult(one.key, Result.REFUSED, R.DISRUPTION_BUDGET, "no")
        outcome = run_pass(snapshot, state=state, choose=False, results=(outcome,))
        assert outcome.commands == ()
        state = outcome.state
        pauses.append(state.attempts[one.key].until - MONOTONIC)
    assert pauses == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_a_longer_pause_of_the_server_counts():
    snapshot, one = evicting()
    outcome = CommandResult(one.key, Result.REFUSED, R.DISRUPTION_BUDGET, "no", 7.0)
    outcome = run_pass(snapshot, choose=False, results=(outcome,))
    assert outcome.state.attempts[one.key].until == MONOTONIC + 7.0
    assert [type(c) for c in run_pass(snapshot, choose=False).commands] == [EvictPod]


def test_the_state_drops_pods_and_jobs_that_are_gone():
    state = MigrationState(
        attempts={"default/x": None}, stayed={"x": 1.0}, declined={"default/pod/x": None}
    )
    kept = run_pass(cluster_of({"a": []}), state=state, choose=False).state
    assert kept == MigrationState()


def test_a_cordoned_node_is_no_target():
    nodes = {"a": ["m:CC", "f1", "f2"]}
    assert moves(run_pass(cluster_of(nodes, make_node("b", unschedulable=True)))) == []
