"""Who begins to move, who stays and why; what is swept up."""

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
from shared.model import Mover, Trigger
from shared.progress import Checkpoint
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.fakes.migrations import make_member, make_migration
from tests.unit.core.migration.migrating_cluster import (
    ALGORITHM_2,
    CC,
    MONOTONIC,
    NOW,
    Train,
    job_owner,
    looked,
    made,
    moves,
    reasons,
    train,
    yard,
)

CROWD = {"a": ["m:CC", "f1", "f2"], "b": [], "c": []}


def ended(phase, *, ended_at=NOW - 500, **fields):
    entered = [(P.CHECKPOINTED, ended_at - 20), (phase, ended_at)]
    return make_migration(phase=phase, transitions=entered, **fields)


def moved_before(count=1, trigger=Trigger.CONVERGED, phase=P.COMPLETED, **fields):
    """Migrations that brought the pod m to where it is, the last ones first."""
    found, uid = [], "default-m"
    for i in range(count):
        member = make_member(f"m{i}", replacement="m", replacement_uid=uid)
        found.append(ended(phase, trigger=trigger, name=f"m-{i}", uid=f"u{i}", **fields))
        found[-1] = replace(found[-1], members=(member,))
        uid = f"default-m{i}"
    return found


def test_a_converged_job_goes_to_the_node_with_the_lowest_score():
    look = looked(yard({"a": ["m:CC", "f1"], "b": ["x", "y"], "c": ["z"]}))
    assert moves(look) == []
    assert reasons(look) == {"m": "BestNodeAlready"}
    assert moves(looked(yard({"a": ["m:CC", "f1", "f2"], "b": ["x", "y"], "c": ["z:CC"]}))) == [
        ("m", "a", "c")
    ]


def test_who_converged_first_is_looked_at_first():
    first, second = Train("late", CC, converged_at=950.0), Train("early", CC, converged_at=910.0)
    params = with_fields(ALGORITHM_2, most_open=1)
    look = looked(yard({"a": [first, second, "f1", "f2"], "b": []}), params)
    assert moves(look) == [("early", "a", "b")]
    assert reasons(look) == {"late": "BudgetUsedUp"}


def test_the_record_of_what_begins():
    (one,) = made(looked(yard(CROWD)))
    assert (one.job, one.trigger, one.mover) == ("default/pod/m", "converged", "recreate")
    assert one.name.startswith("m-")
    assert len(one.name) == len("m-12345678")
    assert one.why == ("converged: share 0.33 to 1.00, saves 6667 s with 10000 s left, costs 30 s")
    assert (one.gain_seconds, one.cost_seconds) == (6666.667, 30.0)
    assert [m.asked for m in one.members] == [True]


def test_the_same_move_has_the_same_name_until_that_is_taken():
    snapshot = yard(CROWD)
    (one,) = made(looked(snapshot))
    assert made(looked(snapshot)) == [one]
    params = with_fields(ALGORITHM_2, cooldown_seconds=0)
    past = replace(one, phase=P.ABORTED, uid="x", transitions=((P.ABORTED, NOW - 1),))
    (two,) = made(looked(yard(CROWD, past), params))
    assert two.name != one.name


def test_a_move_is_told_on_the_job():
    (command,) = [c for c in looked(yard(CROWD)).commands if isinstance(c, CreateMigration)]
    assert (command.event.reason, command.event.about.kind) == ("Migrating", "Pod")
    assert command.event.message.startswith("a to b: converged")


STAYS: dict[str, tuple[dict, R]] = {
    "nobody there would profit": ({"a": ["m:CC", "x:CC"], "b": []}, R.NO_FAST_PEERS),
    "its node is as good as any": ({"a": ["m:CC", "f1"], "b": ["x"]}, R.BEST_NODE_ALREADY),
    "no other node has room": (
        {"a": ["m:CC", "f1"], "b": [f"x{i}" for i in range(4)]},
        R.NO_NODE_FITS,
    ),
    "it is not opted in": (
        {"a": [Train("m", CC, annotations={}), "f1", "f2"], "b": []},
        R.NOT_OPTED_IN,
    ),
    "it was never queued": ({"a": [Train("m", CC, plan=""), "f1", "f2"], "b": []}, R.GATE_REQUIRED),
    "it nearly ends": (
        {"a": [Train("m", CC, remaining_seconds=20.0), "f1", "f2"], "b": []},
        R.GAIN_TOO_SMALL,
    ),
    "its trainer says nothing": (
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
    "the agent names a problem that is not known here": (
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
    look = looked(yard(nodes))
    assert moves(look) == []
    assert reasons(look)["m"] == reason


def test_a_node_whose_agent_is_silent_is_neither_left_nor_gone_to():
    assert moves(looked(yard(CROWD, silent=["a"]))) == []
    assert moves(looked(yard(CROWD, silent=["b"]))) == [("m", "a", "c")]


def test_a_report_that_is_too_old_is_none():
    snapshot = yard(CROWD)
    assert moves(looked(snapshot, stale_seconds=1.0)) == [("m", "a", "b")]
    late = {n: replace(r, received_at=MONOTONIC - 2) for n, r in snapshot.reports.items()}
    assert moves(looked(with_fields(snapshot, reports=late), stale_seconds=1.0)) == []


def test_a_node_that_has_cpu_to_spare_lets_nobody_gain():
    look = looked(yard(CROWD, busy=[]))
    assert reasons(look) == {"m": "GainTooSmall"}


def test_a_share_that_grows_is_enough_while_the_rest_is_not_known():
    nodes = {"a": [Train("m", CC, remaining_seconds=None), "f1", "f2"], "b": []}
    assert moves(looked(yard(nodes))) == [("m", "a", "b")]


def test_what_a_move_costs_is_measured():
    past = ended(P.COMPLETED, name="x")
    past = replace(past, members=(make_member("x", ack_seconds=5.0),))
    (one,) = made(looked(yard(CROWD, past)))
    assert one.cost_seconds == 21.0  # the trainer's own saving 1 s, and 20 s from ack to resumption


def test_an_opted_in_job_of_which_nothing_is_known_says_so_until_something_is():
    memory = looked(yard({"a": ["m:?", Train("n", None, annotations={})], "b": []})).state
    assert {key: d.reason for key, d in memory.declined.items()} == {"default/pod/m": "NoProgress"}
    assert reasons(looked(yard({"a": ["m", "n"], "b": []}), memory=memory)) == {}


def test_one_tick_later_means_a_further_value():
    params = with_fields(ALGORITHM_2, request_on_enter=False)
    at_once = {"a": [Train("m", CC, converged_at=990.0), "f1", "f2"], "b": []}
    assert moves(looked(yard(at_once), params)) == []
    assert moves(looked(yard(CROWD), params)) == [("m", "a", "b")]


def test_more_fast_peers_may_be_asked_for():
    params = with_fields(ALGORITHM_2, min_fast_peers=3)
    assert reasons(looked(yard(CROWD), params)) == {"m": "NoFastPeers"}


def test_without_a_policy_nothing_moves():
    params = MigrationParameters(policy=MigrationPolicy.NONE)
    assert looked(yard(CROWD), params).commands == ()


def test_without_the_resource_nothing_moves():
    look = looked(yard(CROWD), installed=False)
    assert (moves(look), reasons(look)) == ([], {"m": "CRDMissing"})


def test_between_two_looks_nothing_begins():
    assert looked(yard(CROWD), choose=False).commands == ()


def test_one_move_counts_for_the_next():
    nodes = {"a": ["m:CC", "n:CC", "f1", "f2"], "b": [], "c": []}
    params = with_fields(ALGORITHM_2, most_open_per_node=2)
    assert moves(looked(yard(nodes), params)) == [("m", "a", "b"), ("n", "a", "c")]
    look = looked(yard(nodes))
    assert moves(look) == [("m", "a", "b")]
    assert reasons(look) == {"n": "NodeBudgetUsedUp"}


def test_an_open_migration_counts_for_budgets_and_scores():
    open_one = make_migration(make_member("f1"), phase=P.CHECKPOINTED, job="default/pod/f1")
    look = looked(yard(CROWD, open_one))
    assert reasons(look) == {"m": "NodeBudgetUsedUp"}
    params = with_fields(ALGORITHM_2, most_open_per_node=2)
    assert moves(looked(yard(CROWD, open_one), params)) == [("m", "a", "c")]
    assert reasons(looked(yard(CROWD, open_one), with_fields(params, most_open=1))) == {
        "m": "BudgetUsedUp"
    }


def test_a_pod_that_is_moving_is_not_asked_again():
    open_one = make_migration(make_member("m"), phase=P.CHECKPOINTED, job="default/pod/m")
    look = looked(yard(CROWD, open_one), with_fields(ALGORITHM_2, most_open_per_node=9))
    assert moves(look) == []
    assert reasons(look) == {}


def test_a_job_moves_once_by_default():
    assert reasons(looked(yard(CROWD, *moved_before()))) == {"m": "MovesUsedUp"}
    params = with_fields(ALGORITHM_2, most_moves_per_job=2)
    assert moves(looked(yard(CROWD, *moved_before()), params)) == [("m", "a", "b")]
    assert reasons(looked(yard(CROWD, *moved_before(2)), params)) == {"m": "MovesUsedUp"}


def test_a_move_that_failed_is_a_move_and_one_that_was_aborted_is_none():
    assert reasons(looked(yard(CROWD, *moved_before(phase=P.FAILED)))) == {"m": "MovesUsedUp"}
    aborted = ended(P.ABORTED, job="default/pod/m")
    aborted = replace(aborted, members=(make_member("m"),))
    assert moves(looked(yard(CROWD, aborted))) == [("m", "a", "b")]


def test_a_bare_pod_whose_record_is_gone_was_moved_once():
    notes = {labels.CHECKPOINT: "", labels.MIGRATION: "default/long-gone"}
    look = looked(yard({"a": [Train("m", CC, annotations=notes), "f1", "f2"], "b": []}))
    assert reasons(look) == {"m": "MovesUsedUp"}


def test_after_a_migration_a_job_rests_longer_after_each_abort():
    def aborted(count, ended_at):
        made = ended(P.ABORTED, ended_at=ended_at, job="default/pod/m")
        return [
            replace(made, name=f"m-{i}", uid=f"u{i}", members=(make_member("m"),))
            for i in range(count)
        ]

    assert reasons(looked(yard(CROWD, *aborted(1, NOW - 119)))) == {"m": "CoolingDown"}
    assert moves(looked(yard(CROWD, *aborted(1, NOW - 121))))
    assert reasons(looked(yard(CROWD, *aborted(3, NOW - 479)))) == {"m": "CoolingDown"}
    assert moves(looked(yard(CROWD, *aborted(3, NOW - 481))))


def test_staying_uses_the_move_up_unless_it_shall_not():
    nodes = {"a": ["m:CC", "f1"], "b": ["x"]}
    memory = looked(yard(nodes)).state
    assert memory.stayed == {"default-m": NOW}
    assert reasons(looked(yard(CROWD), memory=memory)) == {"m": "MovesUsedUp"}
    params = with_fields(ALGORITHM_2, target=TargetParameters(stay_counts_as_move=False))
    assert moves(looked(yard(CROWD), params, memory))


def test_as_in_the_paper_the_own_container_may_count_and_gains_need_not_be_asked_for():
    nodes = {"a": ["m:CC", "f1"], "b": ["x"]}
    params = with_fields(
        ALGORITHM_2,
        target=TargetParameters(exclude_own=False),
        gain=GainParameters(minimum_ratio=0.0),
    )
    assert moves(looked(yard(nodes), params)) == [("m", "a", "b")]


def gang(size, category=CC, node="a", **job):
    owner = job_owner("g", size=size, **job)
    return [
        Train(f"g-{i}", category, owner=owner, pod={"index": i, "memory": "0"}) for i in range(size)
    ]


def test_a_gang_moves_whole_to_a_node_that_holds_all_of_it():
    look = looked(yard({"a": [*gang(2), "f1", "f2"], "b": ["x", "y", "z"], "c": []}))
    (one,) = made(look)
    assert one.mover is Mover.SUSPEND
    assert moves(look) == [("g-0", "a", "c"), ("g-1", "a", "c")]
    assert [m.asked for m in one.members] == [True, False]


def test_a_gang_that_has_not_converged_as_a_whole_is_not_asked():
    trains = gang(2)
    trains[1].category = None  # nothing is known of it: the other one speaks for both
    assert moves(looked(yard({"a": [*trains, "f1"], "b": []})))
    trains[1].category = train("x").category
    look = looked(yard({"a": [*trains, "f1"], "b": []}))
    assert (moves(look), reasons(look)) == ([], {})


def test_members_with_directories_of_their_own_are_all_asked():
    trains = gang(2)
    for one in trains:
        one.annotations = {labels.CHECKPOINT: "rank-$(INDEX)"}
    (one,) = made(looked(yard({"a": [*trains, "f1", "f2"], "b": []})))
    assert [m.asked for m in one.members] == [True, True]


def test_a_job_we_keep_suspended_without_a_migration_is_resumed():
    notes = {labels.MIGRATION: "default/gone"}
    owner = replace(job_owner(suspended=True), annotations=notes)
    (command,) = looked(yard({"a": []}, owner), choose=False).commands
    assert command == ResumeJob("default/gone", "default", "j", owner.uid)
    foreign = replace(owner, annotations={})
    assert looked(yard({"a": []}, foreign), choose=False).commands == ()


OLD = NOW - 90_000


def test_old_records_go_when_nobody_needs_them():
    aborted = ended(P.ABORTED, ended_at=OLD, owner=make_owner("j"))
    assert looked(yard({"a": []}, aborted), choose=False).commands == (RemoveMigration(aborted),)
    for phase in (P.COMPLETED, P.FAILED):
        of_nobody = ended(phase, ended_at=OLD)
        assert looked(yard({"a": []}, of_nobody), choose=False).commands
        owned = ended(phase, ended_at=OLD, owner=make_owner("j"))
        assert looked(yard({"a": []}, owned), choose=False).commands == ()


def test_a_record_is_kept_while_its_pod_lives_or_a_trainer_may_hold():
    member = make_member("m0", replacement="m", replacement_uid="default-m")
    one = replace(ended(P.COMPLETED, ended_at=OLD), members=(member,))
    assert looked(yard({"a": ["m"]}, one), choose=False).commands == ()
    aborted = ended(P.ABORTED, ended_at=OLD, hold_until=NOW + 1)
    assert looked(yard({"a": []}, aborted), choose=False).commands == ()
    assert looked(yard({"a": []}, ended(P.ABORTED, ended_at=NOW - 5)), choose=False).commands == ()


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
    return yard({"a": [], "b": []}, pod, one), one


def test_a_failed_try_is_repeated_with_a_pause_that_grows_up_to_ten_seconds():
    snapshot, one = evicting()
    memory = looked(snapshot, choose=False).state
    pauses = []
    for _ in range(6):
        outcome = CommandResult(one.key, Result.REFUSED, R.DISRUPTION_BUDGET, "no")
        look = looked(snapshot, memory=memory, choose=False, results=(outcome,))
        assert look.commands == ()
        memory = look.state
        pauses.append(memory.attempts[one.key].until - MONOTONIC)
    assert pauses == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_the_servers_own_pause_counts_where_it_is_longer():
    snapshot, one = evicting()
    outcome = CommandResult(one.key, Result.REFUSED, R.DISRUPTION_BUDGET, "no", 7.0)
    look = looked(snapshot, choose=False, results=(outcome,))
    assert look.state.attempts[one.key].until == MONOTONIC + 7.0
    assert [type(c) for c in looked(snapshot, choose=False).commands] == [EvictPod]


def test_what_is_remembered_of_what_is_gone_is_forgotten():
    memory = MigrationState(
        attempts={"default/x": None}, stayed={"x": 1.0}, declined={"default/pod/x": None}
    )
    kept = looked(yard({"a": []}), memory=memory, choose=False).state
    assert kept == MigrationState()


def test_a_cordoned_node_is_no_target():
    nodes = {"a": ["m:CC", "f1", "f2"]}
    assert moves(looked(yard(nodes, make_node("b", unschedulable=True)))) == []
