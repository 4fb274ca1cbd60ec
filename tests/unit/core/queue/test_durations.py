"""How long jobs run: what users say, what earlier runs took, what agents predict."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from extender.core.cluster import job_views
from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.queue import running_jobs
from extender.core.queue.running_jobs import End, Length, Source, Unknown
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import Delete, JobKey, NodeName, Upsert
from shared.progress import NodeReport, PodReport, Progress, Span
from tests.fakes.builders import make_node
from tests.unit.core.clusters import queued_job, released_job, snapshot_of
from tests.unit.core.queue.runs import START, Spec, World

NODE = make_node("a", cpu="64")
NOW = Reading(1000.0, 1000.0)
SAYS = {labels.EXPECTED_DURATION: "5m"}

NAMES = {
    "resnet": "resnet",
    "resnet-7": "resnet",
    "resnet-2026": "resnet",
    "resnet-x7k2p": "resnet",
    "resnet-first": "resnet-first",
    "resnet-50-x7k2p": "resnet-50",
    "resnet50": "resnet50",
}


@pytest.mark.parametrize(("name", "want"), NAMES.items(), ids=NAMES.keys())
def test_runs_of_generated_names_are_runs_of_one_name(name: str, want: str) -> None:
    assert running_jobs.run_name(JobKey(f"team/job/{name}")) == f"team/job/{want}"


LENGTHS: dict[str, tuple[dict[str, str], dict[str, tuple[float, ...]], Length | None]] = {
    "no source": ({}, {}, None),
    "the annotation": (SAYS, {}, Length(300.0, Source.ANNOTATION)),
    "the longest earlier run": (
        {},
        {"default/job/j": (10.0, 90.0, 20.0)},
        Length(90.0, Source.HISTORY),
    ),
    "the annotation before earlier runs": (
        SAYS,
        {"default/job/j": (10.0,)},
        Length(300.0, Source.ANNOTATION),
    ),
    "runs of others say nothing": ({}, {"default/job/other": (10.0,)}, None),
}


@pytest.mark.parametrize(("notes", "runs", "want"), LENGTHS.values(), ids=LENGTHS.keys())
def test_duration_of_a_job_that_has_not_started(notes, runs, want) -> None:
    snapshot = snapshot_of(NODE, queued_job("j-1", 2, annotations=notes))
    assert running_jobs.length(job_views.view(snapshot, JobKey("default/job/j-1")), runs) == want


def end(snapshot, runs=None, *, since: float = 900.0) -> End:
    key = JobKey("default/job/j")
    state = QueueState(runs=runs or {})
    session = Session(snapshot, NOW, CoreParameters())
    return running_jobs.expected_end(session, snapshot.jobs[key], key, since, state)


ENDS = {
    "no source": ({}, {}, End(None, Unknown.UNSTATED)),
    "the annotation": (SAYS, {}, End(1200.0, Source.ANNOTATION)),
    "an earlier run": ({}, {"default/job/j": (150.0,)}, End(1050.0, Source.HISTORY, 1050.0)),
    "earlier runs, expected with the middle of those that took longer": (
        {},
        {"default/job/j": (150.0, 250.0, 40.0, 350.0)},
        End(1250.0, Source.HISTORY, 1150.0),
    ),
    "the annotation's time is over, an earlier run took longer": (
        {labels.EXPECTED_DURATION: "50s"},
        {"default/job/j": (150.0,)},
        End(1050.0, Source.HISTORY, 1050.0),
    ),
    "all sources are overrun": (
        {labels.EXPECTED_DURATION: "50s"},
        {"default/job/j": (60.0,)},
        End(None, Unknown.OVERRUN),
    ),
    "what cannot be read says nothing": (
        {labels.EXPECTED_DURATION: "soon"},
        {},
        End(None, Unknown.UNSTATED),
    ),
}


@pytest.mark.parametrize(("notes", "runs", "want"), ENDS.values(), ids=ENDS.keys())
def test_end_of_a_running_job(notes, runs, want) -> None:
    job = released_job("j", ["a", "a"], bound=2, annotations=notes)
    assert end(snapshot_of(NODE, job), runs) == want


MODELS = {
    "on the first model": ("h100=2>a100=1", "NVIDIA-H100-80GB-HBM3", 1200.0),
    "on a model of half the speed": ("h100=2>a100=1", "NVIDIA-A100-SXM4-40GB", 1500.0),
    "on a model without a speed": ("h100=2>a100=1", "Tesla-T4", 1200.0),
    "without speeds": ("h100>a100", "NVIDIA-A100-SXM4-40GB", 1200.0),
    "with an order that cannot be read": ("h100=2>a100", "NVIDIA-A100-SXM4-40GB", 1200.0),
}


@pytest.mark.parametrize(("order", "product", "ends_at"), MODELS.values(), ids=MODELS)
def test_the_stated_duration_is_that_on_the_first_model(order, product, ends_at) -> None:
    notes = {**SAYS, labels.ACCELERATORS: order}
    node = make_node("a", labels={"nvidia.com/gpu.product": product})
    job = released_job("j", ["a", "a"], bound=2, annotations=notes)
    assert end(snapshot_of(node, job)) == End(ends_at, Source.ANNOTATION)


def test_a_waiting_job_may_run_on_its_slowest_model_until_its_nodes_are_known() -> None:
    notes = {**SAYS, labels.ACCELERATORS: "h100=2>a100=1"}
    snapshot = snapshot_of(NODE, queued_job("j", 1, annotations=notes))
    job = job_views.view(snapshot, JobKey("default/job/j"))
    h100 = make_node("b", labels={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"})
    assert running_jobs.length(job, {}) == Length(600.0, Source.ANNOTATION)
    assert running_jobs.length(job, {}, [h100]) == Length(300.0, Source.ANNOTATION)


PREDICTED = {
    "the upper end of the band": (
        970.0,
        Span(50.0, 40.0, 70.0),
        End(1040.0, Source.PROGRESS, 1020.0),
    ),
    "its time is over": (900.0, Span(50.0, 40.0, 70.0), End(None, Unknown.OVERRUN)),
    "it predicts nothing": (970.0, None, End(None, Unknown.UNSTATED)),
}


@pytest.mark.parametrize(("read_at", "span", "want"), PREDICTED.values(), ids=PREDICTED.keys())
def test_an_agents_prediction_counts_if_there_is_no_other_source(read_at, span, want) -> None:
    snapshot = snapshot_of(NODE, released_job("j", ["a", "a"], bound=2))
    first = snapshot.jobs[JobKey("default/job/j")][0]
    seen = Progress(metric="loss", source="jsonl", updated_at=read_at, remaining_seconds=span)
    report = NodeReport(
        node=NodeName("a"), boot="b", sequence=1, sent_at=990.0, received_at=990.0, complete=True,
        pods={first.uid: PodReport(uid=first.uid, progress=seen)},
    )  # fmt: skip
    assert end(replace(snapshot, reports={NodeName("a"): report})) == want
    stale = {NodeName("a"): NodeReport(
        node=NodeName("a"), boot="b", sequence=1, sent_at=900.0, received_at=900.0, complete=True,
        pods=report.pods,
    )}  # fmt: skip
    assert end(replace(snapshot, reports=stale)) == End(None, Unknown.UNSTATED)


def finished(*specs: Spec) -> World:
    """Run jobs to their ends, with a pass while each runs."""
    looks = [Spec(f"look{i}x", comes_at=s.comes_at + 5.0, lasts=1.0) for i, s in enumerate(specs)]
    return World([NODE], [*specs, *looks]).run()


def test_the_last_few_runs_of_a_name_are_kept() -> None:
    specs = [
        Spec(f"train-{i}", 2, comes_at=20.0 * i, lasts=10.0 + i, stated=False) for i in range(8)
    ]
    world = finished(*specs)
    assert world.state.runs["default/job/train"] == (13.0, 14.0, 15.0, 16.0, 17.0)
    assert world.state.running == {}


def test_a_run_that_failed_or_was_deleted_is_no_run() -> None:
    world = World([NODE], [Spec("f", lasts=1e9), Spec("d", lasts=1e9)])
    world.run_pass()
    world.now += 1.0
    world.run_pass()
    assert set(world.state.running) == {"default/job/f", "default/job/d"}
    pods = {pod.name: pod for pod in world.store.snapshot().pods.values()}
    world.store.apply(Upsert(changed(pods["f-0"], phase="Failed")))
    world.store.apply(Delete("Pod", pods["d-0"].key, pods["d-0"].uid))
    world.now += 1.0
    world.run_pass()
    assert world.state.running == {}
    assert world.state.runs == {}


def test_a_bounded_number_of_names_is_kept_and_the_oldest_is_dropped(monkeypatch) -> None:
    monkeypatch.setattr(running_jobs, "MOST_NAMES", 2)
    names = ["ant", "bee", "cat", "bee", "dog"]
    specs = [Spec(f"{n}-{i}", comes_at=20.0 * i) for i, n in enumerate(names)]
    world = finished(*specs)
    assert list(world.state.runs) == ["default/job/bee", "default/job/dog"]
    assert world.state.runs["default/job/bee"] == (10.0, 10.0)


def test_after_a_restart_running_jobs_are_recognised_by_their_pods() -> None:
    world = World([NODE], [Spec("j", lasts=100.0)])
    world.run_pass()
    world.now += 30.0
    world.state = QueueState()
    world.run_pass()
    assert world.state.running == {"default/job/j": START}
