"""Views of agents' reports: freshness, progress and checkpoints of jobs, agents of nodes."""

import pytest

from extender.core.agents import reports
from extender.core.agents.reports import Freshness, Reporting
from extender.core.cluster.job_views import view
from extender.core.cluster.jobs import Job
from extender.core.cluster.snapshot import Snapshot
from shared.model import JobKey, NodeName
from shared.progress import Category, Checkpoint, Evidence, Span, Stage, Use
from shared.readapi import api
from tests.fakes.builders import make_node, make_pod
from tests.fakes.reports import make_pod_report, make_report
from tests.unit.core.clusters import store_of

FRESH = Freshness(monotonic=100.0, stale_seconds=30.0)
NODES = [make_node("a"), make_node("b")]
JOB = JobKey("default/group/train")


def worker(index: int, at: str = "a", **pod):
    return make_pod(f"train-{index}", job="train", role="worker", index=index, node=at, **pod)


def observed(*pods, reports) -> tuple[Snapshot, Job]:
    store = store_of(NODES, pods)
    for report in reports:
        store.report(report)
    snapshot = store.snapshot()
    return snapshot, view(snapshot, JOB)


AGES = {
    "just now": (make_report(received_at=100.0), Reporting.FRESH),
    "long enough ago": (make_report(received_at=70.0), Reporting.FRESH),
    "too long ago": (make_report(received_at=69.9), Reporting.STALE),
    "incomplete": (make_report(received_at=100.0, complete=False), Reporting.INCOMPLETE),
    "incomplete, and too long ago": (make_report(complete=False), Reporting.STALE),
    "never": (None, Reporting.SILENT),
    "after the clock's reading": (make_report(received_at=101.0), Reporting.FRESH),
}


@pytest.mark.parametrize(("report", "expected"), AGES.values(), ids=AGES)
def test_a_report_is_fresh_stale_incomplete_or_silent(report, expected: Reporting) -> None:
    assert FRESH.reporting(report) is expected
    if report is not None:
        assert FRESH.age_seconds(report) >= 0


def test_nodes_are_counted_by_the_state_of_their_reports() -> None:
    store = store_of(NODES, make_node("c"))
    store.report(make_report("a", received_at=90.0))
    store.report(make_report("b", received_at=10.0))
    counts = reports.nodes_by_reporting(store.snapshot(), FRESH)
    assert counts == {Reporting.FRESH: 1, Reporting.STALE: 1, Reporting.SILENT: 1}


def test_progress_of_a_job_is_that_of_its_first_member_with_a_metric() -> None:
    pods = [worker(2), worker(1), worker(0)]
    silent = make_pod_report(pods[2].uid, None)
    first = make_pod_report(
        pods[1].uid,
        Category.WATCHING,
        source="printed",
        value=0.5,
        step=7,
        total_steps=10,
        curve=(2.0, 0.5),
        remaining_seconds=Span(30.0, 20.0, 50.0),
        remaining_loss=Span(0.2, 0.1, 0.3),
        specon=Category.PROGRESSING,
        evidence=Evidence(stage=Stage.PLATEAU, since_step=4.0, level=0.51, spread=0.02),
        attempt=2,
        diverged=True,
    )
    node_reports = [
        make_report("a", [make_pod_report(pods[0].uid), first, silent], received_at=60.0)
    ]
    entry = reports.progress(*observed(*pods, reports=node_reports), FRESH)
    assert entry == api.ProgressEntry(
        pod="train-1",
        metric="eval_loss",
        category=Category.WATCHING,
        source="printed",
        value=0.5,
        step=7,
        total_steps=10,
        curve=(2.0, 0.5),
        remaining=Span(30.0, 20.0, 50.0),
        further=Span(0.2, 0.1, 0.3),
        specon=Category.PROGRESSING,
        stage=Stage.PLATEAU,
        evidence="plateau since step 4 (eval_loss 0.51 ± 0.02)",
        attempt=2,
        diverged=True,
        updated_at=990.0,
        stale=True,
    )


def test_members_that_stay_count_before_those_that_leave() -> None:
    pods = [worker(0, deleting=True), worker(1, "b")]
    node_reports = [
        make_report("a", [make_pod_report(pods[0].uid, value=1.0)], received_at=100.0),
        make_report("b", [make_pod_report(pods[1].uid, value=2.0)], received_at=100.0),
    ]
    snapshot, job = observed(*pods, reports=node_reports)
    assert reports.progress(snapshot, job, FRESH).pod == "train-1"
    snapshot, job = observed(*pods, reports=node_reports[:1])
    assert reports.progress(snapshot, job, FRESH).pod == "train-0"


def test_a_report_on_a_pod_of_another_node_is_ignored() -> None:
    pods = [worker(0, "b")]
    foreign = make_report("a", [make_pod_report(pods[0].uid)], received_at=100.0)
    snapshot, job = observed(*pods, reports=[foreign])
    assert reports.of_pod(snapshot, pods[0]) is None
    assert reports.progress(snapshot, job, FRESH) is None
    agent = reports.agent(snapshot, NodeName("a"), FRESH)
    assert agent is not None
    assert agent.progressing == 0


def test_the_problem_with_a_metric_names_the_pod() -> None:
    pods = [worker(0), worker(1)]
    broken = make_pod_report(pods[1].uid, None, problem="no such file")
    node_reports = [make_report("a", [make_pod_report(pods[0].uid, None), broken])]
    assert (
        reports.progress_problem(*observed(*pods, reports=node_reports)) == "train-1: no such file"
    )
    assert reports.progress_problem(*observed(*pods, reports=[])) == ""


def test_where_one_member_has_a_metric_the_others_need_none() -> None:
    pods = [worker(0), worker(1)]
    silent = make_pod_report(pods[1].uid, None, problem="there is no file yet")
    for problem, shown in {"": "", "log too fast": "train-0: log too fast"}.items():
        read = make_pod_report(pods[0].uid, problem=problem)
        node_reports = [make_report("a", [read, silent])]
        assert reports.progress_problem(*observed(*pods, reports=node_reports)) == shown


def test_the_checkpoint_of_a_job_is_that_of_its_first_member_with_one() -> None:
    pods = [worker(0), worker(1)]
    node_reports = [
        make_report(
            "a",
            [
                make_pod_report(
                    pods[0].uid, checkpoint=Checkpoint(problem="TrainerSilent", detail="no answer")
                ),
                make_pod_report(pods[1].uid, checkpoint=Checkpoint(step=5, saved_at=900.0)),
            ],
        )
    ]
    entry = reports.checkpoint(*observed(*pods, reports=node_reports), now=1000.0)
    assert entry == api.CheckpointEntry(pod="train-1", step=5, age_seconds=100.0)
    only = [make_report("a", [node_reports[0].pods[pods[0].uid]])]
    entry = reports.checkpoint(*observed(*pods, reports=only), now=1000.0)
    assert entry == api.CheckpointEntry(pod="train-0", problem="TrainerSilent", detail="no answer")
    assert reports.checkpoint(*observed(*pods, reports=[]), now=1000.0) is None


def test_a_node_shows_its_agent_and_its_pods_by_category() -> None:
    pods = [worker(i) for i in range(4)]
    categories = [Category.PROGRESSING, Category.CONVERGED, Category.CONVERGED, None]
    pod_reports = [make_pod_report(pod.uid, c) for pod, c in zip(pods, categories, strict=True)]
    use = Use(cpu_cores=1.5)
    node_reports = [make_report("a", pod_reports, received_at=98.0, use=use, cpu_cores=4.0)]
    snapshot, _ = observed(*pods, reports=node_reports)
    assert reports.agent(snapshot, NodeName("a"), FRESH) == api.AgentEntry(
        age_seconds=2.0,
        stale=False,
        complete=True,
        progressing=1,
        watching=0,
        converged=2,
        use=use,
        cpu_cores=4.0,
    )
    assert reports.agent(snapshot, NodeName("b"), FRESH) is None
