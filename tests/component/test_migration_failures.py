"""Migrations that fail or are aborted: trainers, targets, agents, owners and pods that go."""

from collections.abc import Callable

import pytest

from extender.core.cluster.snapshot import Snapshot
from extender.core.records import migrations as records_migrations
from extender.writers.decision_log.recorder import Recorder
from shared.kube import paths
from shared.model import MigrationPhase as P
from shared.progress import Category
from tests.component.moving_yard import (
    JOB,
    PATIENCE_SECONDS,
    begun,
    budget,
    crowded,
    ended,
    goes_on,
    migrations,
    phases,
    places,
    put_bare,
    put_job,
    put_replica_set,
    put_stateful_set,
    yard,
)
from tests.component.shell import Extender
from tests.component.training import mark_deleted
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a")


async def test_a_trainer_that_does_not_answer_is_not_evicted(fake: FakeKube) -> None:
    put_bare(fake)
    async with yard(fake, checkpoint_seconds=1.0, cooldown_seconds=60) as (training, _):
        training.deaf.add(JOB)
        await begun(fake, training)
        await ended(fake, P.ABORTED, "CheckpointTimeout")
        assert "create" not in fake.verbs("pods/eviction")
        await goes_on(training)


async def test_a_trainer_that_cannot_save_is_not_evicted(fake: FakeKube) -> None:
    put_bare(fake)
    async with yard(fake, cooldown_seconds=60) as (training, _):
        training.unable.add(JOB)
        await begun(fake, training)
        await ended(fake, P.ABORTED, "CheckpointFailed")
        await goes_on(training)


async def test_a_target_lost_before_the_eviction_aborts(fake: FakeKube) -> None:
    put_stateful_set(fake)
    fake.put(paths.DISRUPTION_BUDGETS, budget(allowed=0))
    async with yard(fake, cooldown_seconds=60) as (training, _):
        await begun(fake, training)
        await eventually(lambda: fake.verbs("pods/eviction"), PATIENCE_SECONDS)
        fake.remove(paths.NODES, "b")
        await ended(fake, P.ABORTED, "TargetLost")
        assert places(training) == ["a"]
        await goes_on(training)


async def test_a_target_lost_after_the_eviction_is_replaced_by_another_node(
    fake: FakeKube,
) -> None:
    put_stateful_set(fake)
    async with yard(fake) as (training, _):
        await begun(fake, training)
        training.stuck.add("a")
        await eventually(lambda: P.RECREATING in phases(fake), PATIENCE_SECONDS)
        fake.remove(paths.NODES, "b")
        training.stuck.clear()
        await ended(fake, P.COMPLETED)
        assert migrations(fake)[0]["status"]["members"][0]["node"] == "a"
    assert training.doubled() == {}


async def test_an_agent_that_stops_reporting_before_the_ack_aborts(fake: FakeKube) -> None:
    put_bare(fake)
    limits = {"stale_seconds": 1.0, "checkpoint_seconds": 5.0, "cooldown_seconds": 60}
    async with yard(fake, **limits) as (training, _):
        training.deaf.add(JOB)
        await begun(fake, training)
        await eventually(lambda: P.CHECKPOINT_REQUESTED in phases(fake), PATIENCE_SECONDS)
        training.silent.add("a")
        await ended(fake, P.ABORTED, "AgentStale")


async def test_a_deleted_job_aborts_its_migration(fake: FakeKube) -> None:
    put_job(fake)
    async with yard(fake, checkpoint_seconds=60) as (training, _):
        training.deaf.add(JOB)
        await begun(fake, training)
        await eventually(lambda: P.CHECKPOINT_REQUESTED in phases(fake), PATIENCE_SECONDS)
        fake.remove(paths.JOBS, JOB, "default")
        await ended(fake, P.ABORTED, "OwnerGone")


async def test_a_deleted_pod_is_not_moved(fake: FakeKube) -> None:
    put_bare(fake)
    async with yard(fake, checkpoint_seconds=60, cooldown_seconds=60) as (training, _):
        training.deaf.add(JOB)
        await begun(fake, training)
        await eventually(lambda: P.CHECKPOINT_REQUESTED in phases(fake), PATIENCE_SECONDS)
        mark_deleted(fake, training.pods(JOB)[0])
        await ended(fake, P.ABORTED, "PodGone")
        await eventually(lambda: training.pods(JOB) == [], PATIENCE_SECONDS)


STUCK = {"bare-pod": put_bare, "job": put_job, "replica-set": put_replica_set}


@pytest.mark.parametrize("put", STUCK.values(), ids=STUCK)
async def test_no_new_pod_runs_while_an_old_one_does_not_end(
    fake: FakeKube, put: Callable[[FakeKube], None]
) -> None:
    put(fake)
    async with yard(fake, recreate_seconds=1.0) as (training, running):
        await begun(fake, training)
        training.stuck.add("a")
        await ended(fake, P.FAILED, "OldPodStays")
        await eventually(lambda: _reservations(running) == 0)
        await eventually(lambda: _suspended(fake) is False, PATIENCE_SECONDS)
        if put is not put_job:
            await eventually(lambda: len(training.pods(JOB)) == 2, PATIENCE_SECONDS)
        assert [p for p in places(training) if p] == ["a"]
        training.stuck.clear()
        await eventually(lambda: [p for p in places(training) if p], PATIENCE_SECONDS)
        await eventually(lambda: training.trainer_of(JOB), PATIENCE_SECONDS)
    assert training.copies[JOB] == 1
    assert training.doubled() == {}


async def test_a_deleted_migration_leaves_no_job_suspended(fake: FakeKube) -> None:
    put_job(fake)
    async with yard(fake) as (training, _):
        await begun(fake, training)
        training.stuck.add("a")
        await eventually(lambda: P.RECREATING in phases(fake), PATIENCE_SECONDS)
        fake.remove(paths.MIGRATIONS, migrations(fake)[0]["metadata"]["name"], "default")
        await eventually(lambda: _suspended(fake) is False, PATIENCE_SECONDS)
        training.stuck.clear()
        await eventually(lambda: [p for p in places(training) if p], PATIENCE_SECONDS)


async def test_a_bare_pod_that_cannot_be_created_again_keeps_its_template(fake: FakeKube) -> None:
    put_bare(fake)
    async with yard(fake, recreate_seconds=1.0) as (training, _):
        await crowded(fake, training)
        no = kube_faults.Answer(403, "Forbidden")
        fake.faults.order("create", "*/namespaces/default/pods", *[no] * 20)
        training.categories[JOB] = Category.CONVERGED
        await ended(fake, P.FAILED, "NotRecreated")
        (member,) = migrations(fake)[0]["spec"]["members"]
        assert member["template"]["spec"]["containers"]


def _suspended(fake: FakeKube) -> bool:
    job = fake.object(paths.JOBS, JOB, "default")
    return bool(job and job["spec"].get("suspend"))


def _reservations(running: Extender) -> int:
    objects = _snapshot(running).migrations.values()
    return sum(len(records_migrations.reservations(migration, ())) for migration in objects)


def _snapshot(running: Extender) -> Snapshot:
    recorder = next(loop for loop in running.parts.loops if isinstance(loop, Recorder))
    return recorder.store.snapshot()
