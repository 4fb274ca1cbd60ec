"""When a TrainJob ends by its own status: what of it counts, and what then starts beside it."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as changed

from extender.core import explain
from extender.core.cluster import owner_progress
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import BackfillParameters
from extender.core.queue import forecast, running_jobs
from extender.core.queue.running_jobs import End, Source, Unknown
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import Entity, JobKey, NodeName, OwnProgress, Pod
from shared.progress import NodeReport, PodReport, Progress, Span
from shared.readapi.answer import EndEntry
from tests.fakes.builders import make_node, make_pod
from tests.fakes.deciding import queue_pass
from tests.unit.core.cluster.train_jobs import KEY, train_job
from tests.unit.core.clusters import snapshot_of
from tests.unit.core.queue.runs import START, Spec, World

NOW, SINCE = 10_000.0, 9_000.0
NODE = make_node("a", cpu="64")
EXPECTED = {labels.EXPECTED_DURATION: "2h"}
BAD = OwnProgress(problem="status.trainerStatus.progressPercentage: '150' is not …")


def stated(left: float | None = 500.0, *, ago: float = 10.0) -> OwnProgress:
    return OwnProgress(percent=45.0, remaining_seconds=left, written_at=NOW - ago)


def running(progress: OwnProgress | None, **more: Any) -> list[Entity]:
    return [NODE, *train_job(progress, ["a", "a"], since=SINCE, **more)]


def end(entities: list[Entity], key: JobKey = KEY, runs: Any = None) -> End:
    snapshot = snapshot_of(*entities)
    pods, memory = snapshot.jobs[key], QueueState(runs=runs or {})
    since = running_jobs.started_at(pods, NOW)
    session = Session(snapshot, Reading(NOW, NOW), CoreParameters())
    return running_jobs.expected_end(session, pods, key, since, memory)


BY_WORD = End(SINCE + 7200.0, Source.ANNOTATION)
ENDS: dict[str, tuple[OwnProgress | None, End]] = {
    "it states the end": (stated(), End(NOW + 490.0, Source.STATUS)),
    "it stated the end a while ago": (stated(1000.0, ago=599.0), End(NOW + 401.0, Source.STATUS)),
    "its clock is ahead": (stated(ago=-50.0), End(NOW + 500.0, Source.STATUS)),
    "its clock is far ahead": (stated(ago=-61.0), BY_WORD),
    "it has been silent for too long": (stated(10_000.0, ago=601.0), BY_WORD),
    "it stated the end before these pods ran": (stated(10_000.0, ago=NOW - SINCE + 1.0), BY_WORD),
    "its time is over": (stated(5.0), BY_WORD),
    "how much is done is no time": (stated(None), BY_WORD),
    "what cannot be used": (BAD, BY_WORD),
    "nothing": (None, BY_WORD),
}


@pytest.mark.parametrize(("progress", "want"), ENDS.values(), ids=ENDS)
def test_the_status_comes_before_the_annotation_where_it_counts(progress, want) -> None:
    assert end(running(progress, annotations=EXPECTED)) == want


def test_it_comes_before_earlier_runs_and_what_agents_predict() -> None:
    entities = running(stated())
    assert end(entities, runs={KEY: (4000.0,)}) == End(NOW + 490.0, Source.STATUS)
    seen = Progress(
        metric="loss", source="jsonl", updated_at=NOW, remaining_seconds=Span(9.0, 8.0, 11.0)
    )
    uid = next(one.uid for one in entities if isinstance(one, Pod))
    report = NodeReport(
        node=NodeName("a"), boot="b", sequence=1, sent_at=NOW, received_at=NOW, complete=True,
        pods={uid: PodReport(uid=uid, progress=seen)},
    )  # fmt: skip
    reading = Reading(NOW, NOW)
    for progress, want in ((stated(), Source.STATUS), (None, Source.PROGRESS)):
        snapshot = snapshot_of(*running(progress))
        snapshot = replace(snapshot, reports={NodeName("a"): report})
        pods = snapshot.jobs[KEY]
        session = Session(snapshot, reading, CoreParameters())
        found = running_jobs.expected_end(session, pods, KEY, SINCE, QueueState())
        assert found.why == want


def test_a_status_alone_that_has_passed_means_that_it_may_end_at_any_moment() -> None:
    assert end(running(stated(5.0))) == End(None, Unknown.OVERRUN)


GROUP = JobKey("default/group/both")
IN_GROUP = {labels.JOB: "both"}


def test_in_a_group_it_counts_if_it_speaks_for_all() -> None:
    grouped = running(stated(), labels=IN_GROUP)
    assert end(grouped, GROUP).why == Source.STATUS
    other = train_job(None, ["a"], since=SINCE, name="gpt", labels=IN_GROUP)
    assert end([*grouped, *other], GROUP).why == Unknown.UNSTATED
    bare = make_pod("z", node="a", labels=IN_GROUP, scheduled_at=SINCE)
    assert end([*grouped, bare], GROUP).why == Unknown.UNSTATED
    assert end([*grouped, changed(bare, phase="Succeeded")], GROUP).why == Source.STATUS


PARAMS = CoreParameters(waiting=BackfillParameters(default_max_wait_seconds=None))
NODES = [make_node("a", cpu="4"), make_node("b", cpu="4")]
WHOLE = Spec("whole", 2, cpu="4", comes_at=1.0, max_wait=3.0)
"""Wants both nodes."""
UNTIL_11 = OwnProgress(remaining_seconds=11.0, written_at=START)


def yard(progress: OwnProgress | None, *specs: Spec) -> World:
    """A TrainJob runs beside those, and the clock is at 5 s."""
    first = train_job(progress, ["a"], since=START, cpu="2")
    world = World([*NODES, *first], specs, PARAMS).run(until=START + 4.5)
    world.now = START + 5.0
    return world


PASSES: dict[str, tuple[OwnProgress | None, float, Reason]] = {
    "it ends the moment the TrainJob does": (UNTIL_11, 6.0, Reason.RELEASING),
    "it would end later": (UNTIL_11, 7.0, Reason.BEHIND_RESERVATION),
    "the TrainJob states nothing": (None, 6.0, Reason.BEHIND_RESERVATION),
}


@pytest.mark.parametrize(("progress", "lasts", "want"), PASSES.values(), ids=PASSES)
def test_a_job_is_backfilled_by_the_end_that_the_status_states(progress, lasts, want) -> None:
    world = yard(progress, WHOLE, Spec("s", cpu="2", comes_at=5.0, lasts=lasts))
    found = {entry.job.name: entry.reason for entry in world.run_pass().entries}
    assert found == {"whole": Reason.MAX_WAIT_DRAINING, "s": want}


def test_a_start_estimate_says_that_it_rests_on_a_status() -> None:
    for progress, want in (
        (UNTIL_11, (START + 11.0, "durations by status")),
        (None, (START + 605.0, "durations by time run so far")),
    ):
        world = yard(progress, WHOLE)
        snapshot = world.observe()
        outcome = queue_pass(snapshot, world.state, world.reading, PARAMS)
        estimates = forecast.estimates(Session(snapshot, world.reading, PARAMS), outcome)
        found = estimates[WHOLE.key]
        assert (found.starts_at, found.why) == want


LISTED = {
    "it counts": (
        stated(),
        EndEntry(at=NOW + 490.0, why="status", done_percent=45.0, written_at=NOW - 10.0),
    ),
    "it is too old": (
        stated(ago=700.0),
        EndEntry(why="unstated", done_percent=45.0, written_at=NOW - 700.0, stale=True),
    ),
    "it cannot be used": (BAD, EndEntry(why="unstated", problem=BAD.problem)),
    "it states nothing": (None, EndEntry(why="unstated")),
}


@pytest.mark.parametrize(("progress", "want"), LISTED.values(), ids=LISTED)
def test_the_list_of_jobs_has_the_end_and_its_source(progress, want) -> None:
    snapshot = snapshot_of(*running(progress))
    (job,) = explain.all_jobs(Session(snapshot, Reading(NOW, NOW), CoreParameters())).entries
    assert job.end == want


def test_a_time_that_is_far_ahead_is_named() -> None:
    snapshot = snapshot_of(*running(stated(ago=-3600.0)))
    found = owner_progress.read(snapshot, snapshot.jobs[KEY], SINCE, NOW)
    assert found is not None
    assert found.problem == (
        "status.trainerStatus.lastUpdatedTime: '3600 s ahead of our clock' "
        "is not a time that has come"
    )


def test_what_is_left_for_a_move_is_what_the_status_says_if_it_counts() -> None:
    for progress, want in ((stated(), 490.0), (stated(5.0), None), (BAD, None), (None, None)):
        snapshot = snapshot_of(*running(progress))
        assert running_jobs.left_by_status(snapshot, KEY, NOW) == want
