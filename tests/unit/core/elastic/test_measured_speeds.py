"""Speeds learned from reports: which intervals count, what they fit, and that nothing piles up."""

import pytest
from msgspec.structs import replace

from extender.core.cluster import job_views
from extender.core.cluster.session import Reading, Session
from extender.core.elastic import measured_speeds
from extender.core.elastic.measured_speeds import (
    MOST_INTERVALS,
    MOST_NAMES,
    Sample,
    Samples,
    SpeedMemory,
)
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.elastic import SpeedParameters
from extender.core.records.rescale import Phase
from shared.progress import Checkpoint, CheckpointPhase
from tests.fakes.builders import make_node
from tests.fakes.reports import make_pod_report, make_report
from tests.unit.core.clusters import store_of
from tests.unit.core.elastic.elastic_cluster import changing, key_of, running

NAME = key_of("v")
HELD = Checkpoint(phase=CheckpointPhase.ACKED)


class Trained:
    """A job of which the first worker reports; each ``see`` is one look."""

    def __init__(self, name="v", workers="1..8"):
        self.name, self.workers = name, workers
        self.memory = SpeedMemory()

    def see(self, at, step, *, pods=2, open_=False, stale=0.0, **report):
        job = running(self.name, ["a"] * pods, workers=self.workers)
        if open_:
            job = changing(job, pods, phase=Phase.GROWING)
        store = store_of([make_node("a")], job)
        pod_report = make_pod_report(f"default-{self.name}-0", step=step, updated_at=at, **report)
        store.report(make_report("a", [pod_report], received_at=at - stale))
        self.session = Session(store.snapshot(), Reading(at, at), CoreParameters())
        self.memory = measured_speeds.learned(self.memory, self.session)
        return self

    @property
    def samples(self):
        return self.memory.samples.get(f"default/job/{self.name}", Samples())

    @property
    def seconds(self):
        return {one.workers: one.seconds for one in self.samples.numbers}

    def pace(self):
        job = job_views.view(self.session.snapshot, key_of(self.name))
        return measured_speeds.pace(self.session, job, self.memory)


def test_an_interval_of_steps_is_measured() -> None:
    one = Trained().see(100.0, 10).see(110.0, 15).see(130.0, 25)
    assert one.seconds == {2: (2.0,)}


def test_the_first_step_that_is_seen_may_be_older_than_the_workers() -> None:
    assert Trained().see(100.0, 10).see(110.0, 15).seconds == {}


def test_short_intervals_are_put_together() -> None:
    one = Trained().see(100.0, 10).see(110.0, 15).see(112.0, 17).see(114.0, 18).see(120.0, 20)
    assert one.seconds == {2: (2.0,)}


BREAKS = {
    "the number changes": {"pods": 3},
    "a change is open": {"open_": True},
    "the trainer holds": {"checkpoint": HELD},
    "the trainer was started anew": {"attempt": 2},
    "the report is stale": {"stale": 40.0},
}


@pytest.mark.parametrize("other", BREAKS.values(), ids=BREAKS.keys())
def test_an_interval_in_which_something_changed_does_not_count(other) -> None:
    one = Trained().see(100.0, 10).see(110.0, 15).see(130.0, 20, **other).see(160.0, 25)
    assert one.seconds == {}


def test_each_number_is_measured_by_itself_and_the_pause_between_them() -> None:
    one = Trained().see(100.0, 10).see(110.0, 15).see(130.0, 25)
    one.see(140.0, 30, open_=True).see(145.0, 30, pods=4).see(158.0, 31, pods=4)
    one.see(168.0, 41, pods=4)
    assert one.seconds == {2: (2.0,), 4: (1.0,)}
    assert one.samples.pauses == (18.0,)
    assert one.pace().pause_seconds == 18.0


def test_nothing_piles_up() -> None:
    one = Trained().see(100.0, 10).see(110.0, 15)
    for i in range(1, 30):
        one.see(110.0 + 10 * i, 15 + 5 * i)
    assert one.seconds == {2: (2.0,) * MOST_INTERVALS}
    many = {f"job-{i}": Samples() for i in range(MOST_NAMES)}
    one.memory = SpeedMemory(one.memory.marks, many)
    one.see(500.0, 500)
    assert len(one.memory.samples) == MOST_NAMES
    assert "job-0" not in one.memory.samples


def test_runs_of_the_same_name_share_what_was_measured() -> None:
    one = Trained("train-xk2b9").see(100.0, 10).see(110.0, 15).see(130.0, 25)
    assert list(one.memory.samples) == ["default/job/train"]


def test_a_job_without_a_range_is_not_measured() -> None:
    one = Trained(workers="").see(100.0, 10).see(110.0, 15).see(130.0, 25)
    assert one.memory == SpeedMemory()


def test_a_job_that_is_gone_leaves_its_samples_alone() -> None:
    one = Trained().see(100.0, 10).see(110.0, 15).see(130.0, 25)
    other = Trained("w")
    other.memory = one.memory
    other.see(140.0, 10)
    assert list(other.memory.marks) == [key_of("w")]
    assert list(other.memory.samples) == ["default/job/v"]


def steps(**by_workers):
    """Samples of so many seconds a step, each measured twice."""
    return Samples(tuple(Sample(int(w[1:]), 0, (s, s)) for w, s in by_workers.items()))


def test_three_numbers_of_workers_make_a_speed() -> None:
    params = SpeedParameters()
    assert measured_speeds.fitted(steps(w1=5.0, w2=3.0), params) is None
    fitted = measured_speeds.fitted(steps(w1=5.0, w2=3.0, w4=2.0), params)
    assert fitted.rate(8, 0) == pytest.approx(1 / 1.5)


def test_a_number_that_was_measured_once_does_not_count() -> None:
    once = Samples((*steps(w1=5.0, w2=3.0).numbers, Sample(4, 0, (2.0,))))
    assert measured_speeds.fitted(once, SpeedParameters()) is None


def test_an_evaluation_in_an_interval_does_not_count() -> None:
    (one,) = Samples((Sample(2, 0, (3.0, 9.0, 3.0)),)).measured
    assert one.seconds == 3.0


def test_what_is_left_is_counted_in_steps() -> None:
    one = Trained().see(100.0, 10, total_steps=50)
    assert one.pace().left == 40.0
    assert one.see(110.0, 60, total_steps=50).pace().left == 0.0
    assert one.see(120.0, 60).pace().left is None


def test_a_pause_that_was_never_seen_is_a_guess_and_a_checkpoint() -> None:
    assert Trained().see(100.0, 10).pace().pause_seconds == 5.0
    saved = Checkpoint(save_seconds=7.0)
    assert Trained().see(100.0, 10, checkpoint=saved).pace().pause_seconds == 12.0


def test_learning_does_not_touch_what_it_was_given() -> None:
    one = Trained().see(100.0, 10).see(110.0, 15)
    before = replace(one.memory)
    measured_speeds.learned(one.memory, one.session)
    assert one.memory == before
