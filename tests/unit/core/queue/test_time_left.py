"""How long jobs still need: which source counts, its band, and what attained time alone says."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from extender.core.cluster import job_views
from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.queue import time_left
from extender.core.queue.running_jobs import Source
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import JobKey, NodeName
from shared.progress import NodeReport, PodReport, Progress, Span
from tests.fakes.builders import make_node
from tests.unit.core.clusters import queued_job, released_job, snapshot_of

NODE = make_node("a", cpu="64")
NOW = Reading(1000.0, 1000.0)
KEY = JobKey("default/job/j")
SAYS = {labels.EXPECTED_DURATION: "300s"}
RUNS = {"default/job/j": (50.0, 200.0, 400.0)}


def exactly(seconds):
    return Span(seconds, seconds, seconds)


def of(entities, runs=None, spans=()):
    """The time of job j; ``spans`` are what agents predicted of its pods 10 s ago."""
    snapshot = snapshot_of(NODE, entities)
    reports = {
        pod.uid: PodReport(
            uid=pod.uid,
            progress=Progress(
                metric="loss", source="jsonl", updated_at=990.0, remaining_seconds=span
            ),
        )
        for pod, span in zip(snapshot.jobs[KEY], spans, strict=False)
    }
    node = NodeReport(
        node=NodeName("a"), boot="b", sequence=1, sent_at=990.0, received_at=990.0, complete=True,
        pods=reports,
    )  # fmt: skip
    session = Session(
        replace(snapshot, reports={NodeName("a"): node} if spans else {}), NOW, CoreParameters()
    )
    return time_left.of(job_views.view(snapshot, KEY), session, QueueState(runs=runs or {}))


def running(seconds, notes=None):
    since = 1000.0 - seconds
    return released_job("j", ["a", "a"], bound=2, scheduled_at=since, annotations=notes or {})


WAITING = {
    "the owner states it": (SAYS, RUNS, exactly(300.0), Source.ANNOTATION),
    "earlier runs": ({}, RUNS, Span(200.0, 50.0, 400.0), Source.HISTORY),
    "nothing is known": ({}, {}, Span(600.0, 120.0, 3000.0), None),
}


@pytest.mark.parametrize(("notes", "runs", "want", "source"), WAITING.values(), ids=WAITING.keys())
def test_a_waiting_job_needs(notes, runs, want, source):
    found = of(queued_job("j", 2, annotations=notes), runs)
    assert (found.left.seconds, found.left.source) == (want, source)
    assert (found.ran_seconds, found.runs) == (0.0, False)


def test_a_running_job_needs_longer_on_a_model_that_it_states_as_slower():
    notes = {**SAYS, labels.ACCELERATORS: "h100=2>a100=1"}
    product = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}
    snapshot = snapshot_of(make_node("a", cpu="64", labels=product), running(100.0, notes))
    job = job_views.view(snapshot, KEY)
    found = time_left.of(job, Session(snapshot, NOW, CoreParameters()), QueueState())
    assert (found.left.seconds, found.left.source) == (exactly(500.0), Source.ANNOTATION)


PREDICTED = (Span(110.0, 60.0, 210.0), Span(90.0, 30.0, 400.0))
RUNNING = {
    "agents come before the owner, and the later end counts": (
        running(100.0, SAYS),
        {},
        PREDICTED,
        Span(100.0, 50.0, 200.0),
        Source.PROGRESS,
    ),
    "a prediction whose time is over says nothing": (
        running(100.0, SAYS),
        {},
        (Span(5.0, 1.0, 9.0),),
        exactly(200.0),
        Source.ANNOTATION,
    ),
    "what the owner stated, less what it has run": (
        running(100.0, SAYS),
        RUNS,
        (),
        exactly(200.0),
        Source.ANNOTATION,
    ),
    "earlier runs that took longer": (
        running(100.0),
        RUNS,
        (),
        Span(200.0, 100.0, 300.0),
        Source.HISTORY,
    ),
    "all that was stated is over: as long again as it has run, in doublings": (
        running(5000.0, SAYS),
        RUNS,
        (),
        Span(4800.0, 960.0, 24000.0),
        None,
    ),
}


@pytest.mark.parametrize(
    ("entities", "runs", "spans", "want", "source"), RUNNING.values(), ids=RUNNING.keys()
)
def test_a_running_job_needs(entities, runs, spans, want, source):
    found = of(entities, runs, spans)
    assert (found.left.seconds, found.left.source) == (want, source)
    assert found.runs


def test_an_attained_time_counts_in_doublings_of_the_least():
    found = [time_left.attained(ran, 100.0).value for ran in (0, 99, 199, 200, 399, 400, 1e6)]
    assert found == [100, 100, 100, 200, 200, 400, 100 * 2**13]


def test_pods_that_leave_and_jobs_that_wait_are_no_running_jobs():
    waits = queued_job("w", 2)
    gone = [changed(pod, phase="Succeeded") for pod in running(10.0)[1:]]
    for entities, want in (([*running(10.0), *waits], [KEY]), ([*gone, *waits], [])):
        session = Session(snapshot_of(NODE, entities), NOW, CoreParameters())
        found = time_left.of_running(session, QueueState())
        assert [timed.job.key for timed in found] == want
    session = Session(snapshot_of(NODE, running(10.0)), NOW, CoreParameters())
    assert time_left.of_running(session, QueueState(), without=[KEY]) == ()
