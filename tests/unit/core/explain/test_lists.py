"""Lists of the read API: the queue, the nodes, the jobs."""

import pytest

from extender.core import explain
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.explain import Forecasts
from extender.core.parameters.combined import CoreParameters
from extender.core.pricing.outcome import JobStatus
from extender.core.queue.state import QueueState
from extender.core.records import slot_plan
from shared import labels
from tests.fakes.builders import make_node, make_owner
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, released_job, snapshot_of
from tests.unit.core.explain.priced_jobs import PLAN, PLANNED, PLANNED_JOB

PARAMS = CoreParameters()
NODES = [
    make_node("a", cpu="4"),
    make_node("b", cpu="4", unschedulable=True),
    make_node("c", cpu="8", taints=["node.kubernetes.io/not-ready:NoSchedule"]),
]
ELASTIC = {labels.WORKERS: "1..4"}


def session_at(now: float, snapshot: Snapshot) -> Session:
    return Session(snapshot, Reading(now, now), PARAMS)


def test_the_queue_shows_position_value_terms_and_reason() -> None:
    small = queued_job("small", 2, created_at=60.0, annotations={labels.MAX_WAIT: "2m"})
    big = queued_job("big", 9, created_at=40.0)
    session = session_at(100.0, snapshot_of(NODES, small, big))
    cycle = queue_pass(session.snapshot, QueueState(), session.reading, PARAMS)
    queue = explain.queue(session, cycle, acting=True)
    assert (queue.order, queue.acting, queue.generated_at) == ("cps", True, 100.0)
    assert [entry.position for entry in queue.entries] == [1, 2]
    entries = {entry.job: entry for entry in queue.entries}
    assert entries["small"].terms.l == 50
    assert entries["small"].reason == "Releasing"
    assert entries["small"].waited_seconds == 40.0
    assert [entries[job].max_wait_seconds for job in ("small", "big")] == [120.0, None]
    assert entries["big"].reason == "GangDoesNotFit"
    assert entries["big"].min_available == 9


def test_the_queue_is_empty_before_the_first_pass() -> None:
    assert explain.queue(session_at(1.0, snapshot_of()), None, acting=False).entries == ()


def test_nodes_show_use_and_price() -> None:
    job = released_job("j", ["a", "a"])
    a, b, c = explain.nodes(session_at(1.0, snapshot_of(NODES, job))).entries
    assert (a.name, a.seats, a.used["cpu"], a.allocatable["cpu"]) == ("a", 2, 2000, 4000)
    assert a.relative_price == pytest.approx(0.5)
    assert (b.relative_price, b.log_price) == (0.0, 0.0)
    assert (a.unschedulable, b.unschedulable) == (False, True)
    assert (a.ready, c.ready) == (True, False)
    assert a.agent is None


def test_nodes_show_their_domains_by_level_without_that_of_the_node_itself() -> None:
    rack = "cloud.provider.com/topology-rack"
    nodes = [make_node("a", labels={rack: "r1", labels.ZONE_LABEL: "z"}), make_node("b")]
    a, b = explain.nodes(session_at(1.0, snapshot_of(nodes))).entries
    assert (a.domains, b.domains) == ({"zone": "z", "rack": "r1"}, {})


def test_jobs_show_their_members_by_state() -> None:
    snapshot = snapshot_of(NODES, released_job("j", ["a", "c"], bound=1))
    (job,) = explain.all_jobs(session_at(1.0, snapshot)).entries
    assert (job.counts.bound, job.counts.seated, job.members) == (1, 1, 2)
    assert job.nodes == ("a", "c")
    assert (job.progress, job.progress_problem, job.checkpoint) == (None, "", None)


def test_the_queue_and_the_jobs_show_the_same_details_of_a_job() -> None:
    job = queued_job("big", 3, annotations=ELASTIC)
    session = session_at(1.0, snapshot_of(NODES[:1], job))
    cycle = queue_pass(session.snapshot, QueueState(), session.reading, PARAMS)
    (key,) = session.snapshot.jobs
    standings = {key: JobStatus(key, payoff=1.0)}
    (waiting,) = explain.queue(session, cycle, acting=True, standings=standings).entries
    (listed,) = explain.all_jobs(session, forecasts=Forecasts(standings=standings)).entries
    assert waiting.workers == listed.workers
    assert waiting.workers is not None
    assert (waiting.workers.least, waiting.workers.most, waiting.workers.now) == (1, 4, 3)
    assert waiting.admission == listed.admission
    assert waiting.admission is not None


def test_a_job_with_a_fixed_number_of_workers_has_no_details() -> None:
    snapshot = snapshot_of(NODES[:1], queued_job("big", 3))
    (listed,) = explain.all_jobs(session_at(1.0, snapshot)).entries
    assert (listed.workers, listed.admission) == (None, None)


def test_a_job_that_its_plan_pauses_has_no_pods_and_is_listed() -> None:
    owner = make_owner(name="big", annotations={labels.SLOT_PLAN: slot_plan.text(PLAN)})
    session = session_at(45.0, snapshot_of(NODES[:1], queued_job("zeta", 1), owner))
    entries = explain.all_jobs(
        session, forecasts=Forecasts(standings={PLANNED_JOB: PLANNED})
    ).entries
    assert [entry.job for entry in entries] == ["big", "zeta"]
    paused = entries[0]
    assert (paused.members, paused.min_available, paused.created_at) == (0, 3, owner.created_at)
    assert paused.workers is not None
    assert (paused.workers.now, paused.workers.most) == (0, 4)
