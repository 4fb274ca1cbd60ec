"""Faults of a job by all its agents' reports: they begin once, and end."""

from typing import Any

from extender.core import explain
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.training_faults import DetectionParameters
from shared.model import Delete, Upsert
from shared.progress import Checkpoint, CheckpointPhase
from tests.fakes.migrations import make_member, make_migration
from tests.unit.core.training_faults.training import KEY, Training


def hanging(ranks: int = 3) -> Training:
    """Rank 2 idles since rank 0 logged last; nothing has been found yet."""
    training = Training(ranks)
    assert training.events(600) == []
    training.silent_since = training.clock
    training.idle = {2: training.clock + 2}
    return training


def test_a_hang_names_the_idle_pod_and_its_node_once() -> None:
    training = hanging()
    assert training.events(290) == []
    outcomes = training.run(600)
    [event] = [command for one in outcomes for command in one.commands]
    assert (event.reason, event.about.name, event.warning) == ("TrainingHangs", "train", True)
    assert event.message == (
        "no progress for 5 min (usually every 4 s, longest pause 20 s), and pod train-2 on node n2 "
        "has idled for 5 min; `kubectl logs -n default train-2` may say why; the annotation "
        "shuntyard.io/on-hang: restart on its owner restarts such a job"
    )
    assert [kind for one in outcomes for kind in one.begun] == ["Hung"]


def test_it_ends_when_a_member_makes_progress_and_may_come_again() -> None:
    training = hanging()
    assert training.events(400) == ["TrainingHangs"]
    training.silent_since = None
    training.idle = {}
    assert [kind for one in training.run() for kind in one.ended] == ["Hung"]
    assert training.kinds() == []
    training.silent_since = training.clock
    training.idle = {1: training.clock}
    assert training.events(400) == ["TrainingHangs"]
    assert training.kinds() == ["Hung train-1"]


def test_a_hang_goes_on_while_an_agent_is_silent_and_when_it_begins_anew() -> None:
    training = hanging()
    training.run(400)
    training.without = {0}
    assert training.events(600) == []
    assert training.kinds() == ["Hung train-2"]
    training.without, training.idle = set(), {}  # an agent that restarts knows no usual use
    assert training.events(600) == []
    assert training.kinds() == ["Hung train-2"]


def test_it_ends_with_its_pod() -> None:
    training = hanging()
    training.run(400)
    gone = training.pods[2]
    training.pods[2] = training.pod(2, uid="new", created_at=5.0)
    training.store.apply(Delete("Pod", gone.key, gone.uid))
    training.put(training.pods[2])
    training.idle = {}
    training.run()
    assert training.kinds() == []


def test_nothing_is_found_while_a_report_is_missing() -> None:
    training = hanging()
    training.without = {1}
    assert training.events(600) == []


def test_nothing_is_found_while_values_cannot_be_read() -> None:
    training = hanging()
    training.problem = "no file is read since noon: pod default/train-0 hangs"
    assert training.events(600) == []


def test_nothing_is_found_while_a_member_does_not_run() -> None:
    training = hanging()
    training.put(training.pod(1, phase="Pending"))
    assert training.events(600) == []


def test_nothing_is_found_while_the_trainer_holds_for_us() -> None:
    training = hanging()
    training.checkpoint = Checkpoint(phase=CheckpointPhase.ACKED, request="m", acked_step=600)
    assert training.events(600) == []


def test_nothing_is_found_while_the_job_is_moved() -> None:
    training = hanging()
    training.store.apply(Upsert(make_migration(make_member(training.pods[0]), job=KEY)))
    assert training.events(600) == []


def test_nothing_is_found_after_the_last_step() -> None:
    training = hanging()
    training.changes = {"total_steps": 600}
    assert training.events(600) == []
    training.changes = {}
    training.checkpoint = Checkpoint(done=True)
    assert training.events(600) == []


def test_nothing_is_looked_for_when_it_is_switched_off() -> None:
    training = hanging()
    training.parameters = CoreParameters(fault_detection=DetectionParameters(enabled=False))
    assert training.events(600) == []


def test_a_diverged_run_is_reported_once_and_until_it_is_finite() -> None:
    training = Training()
    training.changes = {"bad_values": 3, "bad_since_step": 12, "diverged": True}
    [event] = [command for one in training.run(100) for command in one.commands]
    assert event.reason == "TrainingDiverged"
    assert "end it, or resume an earlier checkpoint" in event.message
    assert training.kinds() == ["Diverged train-0"]
    training.changes = {}
    training.run()
    assert training.kinds() == []


def test_a_straggler_is_named_after_a_whole_comparison_and_recovers() -> None:
    training = Training()
    training.ranks_with_values = {0, 1, 2}

    def train(seconds: float, share: float) -> list[Any]:
        begun, events = training.clock, []
        slow = training.steps.get(2, 0)
        while training.clock < begun + seconds:
            training.steps[2] = slow + int(share * (training.clock + 10 - begun))
            events += [command for one in training.run() for command in one.commands]
        return events

    assert train(500, 0.5) == []
    [event] = train(800, 0.5)
    assert event.reason == "TrainingStraggles"
    assert event.message.endswith("--from n2` moves the job after a checkpoint")
    assert training.kinds() == ["Straggler train-2"]
    assert train(1300, 1.0) == []
    assert training.kinds() == []


def test_the_read_api_has_the_faults_of_a_job() -> None:
    training = hanging()
    training.run(400)
    [entry] = explain.all_jobs(training.session).entries
    session = explain.isolated(training.session, None)
    for fault in (*entry.faults, *explain.job(session, KEY).faults):
        assert (fault.kind, fault.pod, fault.node) == ("Hung", "train-2", "n2")
        assert fault.since == training.session.now - 100
    assert len(entry.faults) == 1
