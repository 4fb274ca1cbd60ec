"""Hung jobs are restarted only on request, whole, from a checkpoint, and not too often."""

from dataclasses import replace as changed
from typing import Any

import pytest
from msgspec.structs import replace

from extender.core.cluster import job_views
from extender.core.cluster.commands import ChangeOwner, DeletePod, EmitEvent
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.training_faults import RestartParameters
from extender.core.records import hang_restarts
from extender.core.records.hang_restarts import HangRestarts
from shared import labels
from shared.model import Delete, Owner, Upsert
from shared.objects.owners import JobState
from shared.progress import Checkpoint
from tests.fakes.builders import make_owner
from tests.unit.core.training_faults.training import KEY, Training

SAVED = Checkpoint(step=500, saved_at=1.0)
PODS = ["train-0", "train-1", "train-2"]
RESTARTS = "RestartingHungTraining"
REFUSED = "HungTrainingNotRestarted"


def owner_of(on_hang: str | None = "restart", **fields: Any) -> Owner:
    template = {} if on_hang is None else {labels.ON_HANG: on_hang}
    owner = make_owner("train", size=3, template=template)
    return replace(owner, **{"job": JobState(failures_left=6), **fields})


class Restarted(Training):
    """A job whose rank 2 hangs; every command is carried out.

    Attributes:
        seen: Reasons of Events, and names of deleted pods, in order.
        stops: No command is carried out from the first of this type on: the extender is killed.
    """

    def __init__(self, owner: Owner, checkpoint: Checkpoint | None = SAVED) -> None:
        super().__init__(3, owner)
        self.checkpoint = checkpoint
        self.seen: list[str] = []
        self.stops: type | None = None
        self.lives = 0
        self.live(100)
        self.hang()

    def hang(self) -> None:
        self.silent_since, self.idle = self.clock, {2: self.clock + 1}

    def live(self, seconds: float) -> None:
        """Let time pass; what a pass decides is done before the next one."""
        until = self.clock + seconds
        while self.clock < until:
            [outcome] = self.run()
            for command in outcome.commands:
                if self.stops is not None and isinstance(command, self.stops):
                    break
                self.carry_out(command)

    def carry_out(self, command: EmitEvent | ChangeOwner | DeletePod) -> None:
        match command:
            case EmitEvent():
                self.seen.append(command.reason)
            case ChangeOwner():
                notes = {**self.owner.annotations, **dict(command.annotations)}
                self.owner = replace(self.owner, annotations=notes, resource_version="2")
                self.store.apply(Upsert(self.owner))
                if command.event is not None:
                    self.seen.append(command.event.reason)
            case DeletePod():
                pod = next(pod for pod in self.pods if pod.uid == command.uid)
                self.store.apply(Delete("Pod", pod.key, pod.uid))
                self.seen.append(pod.name)

    def made_anew(self) -> None:
        """Their owner makes all deleted pods again; they train."""
        self.lives += 1
        alive = self.store.snapshot().pods
        for rank, pod in enumerate(self.pods):
            if pod.key not in alive:
                self.pods[rank] = self.pod(rank, uid=f"{pod.name}-{self.lives}", created_at=9.0)
                self.put(self.pods[rank])
        self.silent_since, self.idle = None, {}

    @property
    def record(self) -> HangRestarts | None:
        return hang_restarts.read(self.owner)


def test_the_whole_gang_is_restarted_once() -> None:
    job = Restarted(owner_of())
    job.live(400)
    assert job.seen == ["TrainingHangs", RESTARTS, *PODS]
    record = job.record
    assert record is not None
    assert (record.count, record.pod, record.node, record.checkpoint_step) == (
        1, "train-2", "n2", 500
    )  # fmt: skip
    job.made_anew()
    job.live(600)
    assert job.seen == ["TrainingHangs", RESTARTS, *PODS]
    assert job.kinds() == []


def test_the_event_names_pod_node_and_checkpoint() -> None:
    job = Restarted(owner_of())
    job.stops = ChangeOwner
    job.run(310)
    [command] = [c for one in job.run() for c in one.commands]
    assert isinstance(command, ChangeOwner)
    assert command.event is not None
    assert command.event.message.startswith(
        "all 3 pods are deleted, the job begins again from its checkpoint of step 500 (restart 1 "
        "of 3): no progress for 5 min"
    )
    assert "pod train-2 on node n2 has idled" in command.event.message


def test_the_record_is_written_before_any_pod_is_deleted() -> None:
    job = Restarted(owner_of())
    job.stops = ChangeOwner
    job.live(600)
    assert (job.seen, job.record) == (["TrainingHangs"], None)


@pytest.mark.parametrize("deleted", [0, 1, 2])
def test_another_leader_deletes_the_rest(deleted: int) -> None:
    """It knows nothing but the record; the agents have not reported to it yet."""
    job = Restarted(owner_of())
    job.stops = DeletePod
    job.live(400)
    assert job.seen == ["TrainingHangs", RESTARTS]
    for pod in job.pods[:deleted]:
        job.carry_out(DeletePod(pod.key, pod.uid, "hung"))
    job.state, job.without, job.stops = type(job.state)(), {0, 1, 2}, None
    job.clock += 60
    job.live(10)
    assert job.seen == ["TrainingHangs", RESTARTS, *PODS]


def test_new_pods_of_a_restart_that_goes_on_are_left_alone() -> None:
    job = Restarted(owner_of())
    job.live(400)
    job.made_anew()
    job.state, job.without = type(job.state)(), {0, 1, 2}
    job.live(100)
    assert job.seen[2:] == PODS


def test_an_old_restart_is_given_up() -> None:
    job = Restarted(owner_of())
    job.stops = DeletePod
    job.live(400)
    job.clock += 700
    job.stops = None
    job.silent_since, job.idle = None, {}
    job.live(100)
    assert job.seen == ["TrainingHangs", RESTARTS]


# owner, checkpoint, part of the reason
REFUSALS: dict[str, tuple[Owner, Checkpoint | None, str]] = {
    "no checkpoint": (owner_of(), None, "no member has a checkpoint"),
    "a directory without a checkpoint": (owner_of(), Checkpoint(), "no member has a checkpoint"),
    "its Job would fail": (owner_of(job=JobState(failures_left=2)), SAVED, "counts deleted pods"),
    "an index would fail": (
        owner_of(job=JobState(failures_left=0, per_index=True)), SAVED, "backoffLimitPerIndex"
    ),
    "its policy would fail it": (
        owner_of(job=JobState(failures_left=9, fails_with_pod=True)), SAVED, "podFailurePolicy"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("owner", "checkpoint", "reason"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_is_reported_once(owner: Owner, checkpoint: Checkpoint, reason: str) -> None:
    job = Restarted(owner, checkpoint)
    messages = []
    for outcome in job.run(600):
        messages += [c.message for c in outcome.commands if isinstance(c, EmitEvent)]
        assert not any(isinstance(c, ChangeOwner | DeletePod) for c in outcome.commands)
    assert len(messages) == 2
    assert reason in messages[1]


def test_without_the_annotation_nothing_is_restarted() -> None:
    job = Restarted(owner_of(None))
    job.live(600)
    assert job.seen == ["TrainingHangs"]


def test_a_pod_cannot_ask_for_it() -> None:
    """Its author may have no right to change its owner."""
    job = Restarted(owner_of(None))
    job.put(*(replace(pod, annotations={labels.ON_HANG: "restart"}) for pod in job.pods))
    job.live(600)
    assert job.seen == ["TrainingHangs"]


def test_without_a_checkpoint_a_job_is_restarted_if_its_owner_asks_for_that() -> None:
    job = Restarted(owner_of("restart-without-checkpoint"), None)
    job.live(400)
    assert job.seen == ["TrainingHangs", RESTARTS, *PODS]
    assert job.record is not None
    assert job.record.checkpoint_step is None


def test_an_annotation_that_cannot_be_used_is_named() -> None:
    job = Restarted(owner_of("Restart"))
    job.live(600)
    assert job.seen == ["TrainingHangs"]
    problem = job_views.view(job.store.snapshot(), KEY).problem
    assert problem is not None
    assert problem.message == (
        "annotation shuntyard.io/on-hang: 'Restart' is not restart or restart-without-checkpoint"
    )


def test_the_next_restart_waits_and_the_number_is_limited() -> None:
    job = Restarted(owner_of())
    job.parameters = changed(
        CoreParameters(),
        hang_restarts=RestartParameters(most_restarts=2, least_restart_seconds=1000.0),
    )
    job.live(400)
    job.made_anew()
    job.hang()
    job.live(400)
    assert job.seen[5:] == ["TrainingHangs", REFUSED]
    job.live(900)
    assert job.seen[7:] == [RESTARTS, *PODS]
    job.made_anew()
    job.clock += 5000
    job.hang()
    job.live(2000)
    assert job.seen[11:] == ["TrainingHangs", REFUSED]
    assert job.record is not None
    assert job.record.count == 2
