"""A converged job of any owner moves by its checkpoint, and no step is done twice."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from extender.app import replay
from extender.controllers.migration import MigrationController
from extender.core.cluster.snapshot import Snapshot
from extender.core.records import migrations as records_migrations
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from extender.writers.decision_log.recorder import Recorder
from shared import labels
from shared.kube import paths
from shared.model import MigrationPhase as P
from shared.progress import Category
from tests.component.moving_yard import (
    JOB,
    OWNERS,
    PATIENCE_SECONDS,
    begun,
    crowded,
    ends,
    migrations,
    phases,
    places,
    put_bare,
    put_indexed_job,
    put_job,
    put_replica_set,
    put_stateful_set,
    settings,
    yard,
)
from tests.component.shell import QUICK as SHELL
from tests.component.shell import Extender, lease, node
from tests.component.training import Training, mark_deleted
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube


@pytest.fixture
async def fake() -> AsyncIterator[FakeKube]:
    async with FakeKube.running() as server, lease(server):
        server.put(paths.NODES, node("a"))
        yield server


async def ended(fake: FakeKube, phase: P, reason: str = "") -> None:
    await eventually(lambda: (phase, reason) in ends(fake), PATIENCE_SECONDS, str(ends(fake)))


@pytest.mark.parametrize("put", OWNERS.values(), ids=OWNERS)
async def test_a_converged_job_moves_and_resumes_where_it_was(
    fake: FakeKube, put: Callable[[FakeKube], None]
) -> None:
    put(fake)
    async with yard(fake) as (training, _):
        await begun(fake, training)
        await ended(fake, P.COMPLETED)
        assert places(training) == ["b"]
        (member,) = migrations(fake)[0]["status"]["members"]
        assert member["ackedStep"] == member["resumedStep"] > 0
        assert member["node"] == "b"
    assert training.doubled() == {}
    assert training.copies[JOB] == 1


async def test_the_migration_object_records_cause_and_phases(fake: FakeKube) -> None:
    put_job(fake)
    async with yard(fake) as (training, _):
        await begun(fake, training)
        await ended(fake, P.COMPLETED)
        (one,) = migrations(fake)
        assert one["metadata"]["ownerReferences"][0]["kind"] == "Job"
        spec, status = one["spec"], one["status"]
        assert (spec["trigger"], spec["mover"]) == ("converged", "suspend")
        assert spec["why"].startswith("converged: share 0.33 to 1.00, saves")
        assert [entry["phase"] for entry in status["transitions"]] == [
            *("TargetReserved", "CheckpointRequested", "Checkpointed", "Evicting"),
            *("Recreating", "Resuming", "Completed"),
        ]
        events = await eventually(lambda: _events(fake, "Migrated"))
        assert [event["regarding"]["kind"] for event in events] == ["Job"]
        assert "a to b: resumed at step" in events[0]["note"]
        assert _events(fake, "Migrating")


async def test_a_gang_moves_whole_by_suspending_its_job(fake: FakeKube) -> None:
    put_job(fake, size=2)
    async with yard(fake) as (training, _):
        await begun(fake, training, trainers=4)
        await ended(fake, P.COMPLETED)
        assert places(training) == ["b", "b"]
        (one,) = migrations(fake)
        assert [member["asked"] for member in one["spec"]["members"]] == [True, False]
        job = fake.object(paths.JOBS, JOB, "default")
        assert job is not None
        assert job["spec"]["suspend"] is False
        assert "shuntyard.io/migration" not in job["metadata"]["annotations"]
        assert fake.verbs("pods/eviction") == ["create", "create"]  # by dry run alone


async def test_one_index_of_a_job_with_limits_for_each_moves_alone(fake: FakeKube) -> None:
    put_indexed_job(fake)
    async with yard(fake) as (training, _):
        await begun(fake, training, trainers=4)
        await ended(fake, P.COMPLETED)
        assert places(training) == ["a", "b"]
        assert migrations(fake)[0]["spec"]["mover"] == "evict"


async def test_a_job_that_is_not_opted_in_stays(fake: FakeKube) -> None:
    put_bare(fake, opted_in=False)
    async with yard(fake) as (training, running):
        await begun(fake, training)
        declined = await eventually(lambda: _declined(running, "default/pod/m"))
        assert declined == "NotOptedIn"
        assert migrations(fake) == []


async def test_a_job_moves_once_in_its_life(fake: FakeKube) -> None:
    put_stateful_set(fake)
    async with yard(fake) as (training, running):
        await begun(fake, training)
        await ended(fake, P.COMPLETED)
        for name in ("g1", "g2"):
            put_bare(fake, name, opted_in=False)
        declined = await eventually(lambda: _declined(running, "default/statefulset/m"))
        assert declined in {"MovesUsedUp", "NoFastPeers"}
        assert len(migrations(fake)) == 1


async def test_without_the_resource_nothing_moves_and_jobs_run_on(fake: FakeKube) -> None:
    fake.absent.add(paths.MIGRATIONS)
    put_bare(fake)
    async with yard(fake) as (training, running):
        await begun(fake, training)
        declined = await eventually(lambda: _declined(running, "default/pod/m"))
        assert declined == "CRDMissing"
        fake.absent.clear()  # installed while it runs: seen at the next try
        await ended(fake, P.COMPLETED)


async def test_a_budget_that_forbids_too_long_ends_in_abort_and_the_trainer_goes_on(
    fake: FakeKube,
) -> None:
    put_stateful_set(fake)
    fake.put(paths.DISRUPTION_BUDGETS, _budget(allowed=0))
    async with yard(fake, evict_seconds=1.0, hold_seconds=2.0, cooldown_seconds=60) as (
        training,
        _,
    ):
        await begun(fake, training)
        await ended(fake, P.ABORTED, "DisruptionBudget")
        assert places(training) == ["a"]
        await goes_on(training)
    assert training.doubled() == {}


async def test_a_budget_that_allows_again_lets_it_go(fake: FakeKube) -> None:
    put_stateful_set(fake)
    fake.put(paths.DISRUPTION_BUDGETS, _budget(allowed=0))
    async with yard(fake) as (training, _):
        await begun(fake, training)
        await eventually(lambda: fake.verbs("pods/eviction"), PATIENCE_SECONDS)
        fake.put(paths.DISRUPTION_BUDGETS, _budget(allowed=1))
        await ended(fake, P.COMPLETED)


async def test_a_budget_of_one_forbids_to_move_a_gang_of_two(fake: FakeKube) -> None:
    put_job(fake, size=2)
    fake.put(paths.DISRUPTION_BUDGETS, _budget(allowed=1))
    async with yard(fake, evict_seconds=1.0, hold_seconds=2.0, cooldown_seconds=60) as (
        training,
        _,
    ):
        await begun(fake, training, trainers=4)
        await ended(fake, P.ABORTED, "DisruptionBudget")
        assert places(training) == ["a", "a"]


LOST = {
    "stateful-set": (put_stateful_set, ("create", "*/pods/m-0/eviction"), "*/pods/m-0"),
    "job": (put_job, ("patch", "*/jobs/m"), "*/jobs/m"),
}


@pytest.mark.parametrize(("put", "write", "read"), LOST.values(), ids=LOST)
async def test_neither_an_answer_nor_the_question_after_it_need_come(
    fake: FakeKube, put: Callable[[FakeKube], None], write: tuple[str, str], read: str
) -> None:
    put(fake)
    async with yard(fake) as (training, _):
        fake.faults.order(*write, kube_faults.LostAnswer())
        fake.faults.order("get", read, kube_faults.SERVER_ERROR)
        await begun(fake, training)
        await ended(fake, P.COMPLETED)
        assert fake.faults.left == 0
    assert training.doubled() == {}


async def test_who_does_not_act_moves_nothing_until_it_does() -> None:
    async with FakeKube.running() as fake:
        for name in ("a", "b"):
            fake.put(paths.NODES, node(name))
        for name in (JOB, "f1", "f2"):
            put_bare(fake, name, node="a")
        async with yard(fake) as (training, running):
            training.categories[JOB] = Category.CONVERGED
            async with lease(fake, "another-host"):
                await eventually(lambda: len(_reports(running)) == 2, PATIENCE_SECONDS)
                await eventually(lambda: fake.verbs("leases"), PATIENCE_SECONDS)
                assert migrations(fake) == []
            async with lease(fake):
                await ended(fake, P.COMPLETED)


async def test_a_trainer_that_does_not_answer_is_left_alone(fake: FakeKube) -> None:
    put_bare(fake)
    async with yard(fake, checkpoint_seconds=1.0, cooldown_seconds=60) as (training, _):
        training.deaf.add(JOB)
        await begun(fake, training)
        await ended(fake, P.ABORTED, "CheckpointTimeout")
        assert "create" not in fake.verbs("pods/eviction")
        await goes_on(training)


async def test_a_trainer_that_cannot_save_is_left_alone(fake: FakeKube) -> None:
    put_bare(fake)
    async with yard(fake, cooldown_seconds=60) as (training, _):
        training.unable.add(JOB)
        await begun(fake, training)
        await ended(fake, P.ABORTED, "CheckpointFailed")
        await goes_on(training)


async def test_a_target_that_is_lost_before_the_eviction_ends_in_abort(fake: FakeKube) -> None:
    put_stateful_set(fake)
    fake.put(paths.DISRUPTION_BUDGETS, _budget(allowed=0))
    async with yard(fake, cooldown_seconds=60) as (training, _):
        await begun(fake, training)
        await eventually(lambda: fake.verbs("pods/eviction"), PATIENCE_SECONDS)
        fake.remove(paths.NODES, "b")
        await ended(fake, P.ABORTED, "TargetLost")
        assert places(training) == ["a"]
        await goes_on(training)


async def test_a_target_that_is_lost_after_the_eviction_sends_the_pod_elsewhere(
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


async def test_an_agent_that_falls_silent_before_the_ack_ends_in_abort(fake: FakeKube) -> None:
    put_bare(fake)
    async with yard(fake, stale_seconds=1.0, cooldown_seconds=60) as (training, _):
        training.deaf.add(JOB)
        await begun(fake, training)
        await eventually(lambda: P.CHECKPOINT_REQUESTED in phases(fake), PATIENCE_SECONDS)
        training.silent.add("a")
        await ended(fake, P.ABORTED, "AgentStale")


async def test_a_job_that_is_deleted_takes_its_migration_along(fake: FakeKube) -> None:
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
async def test_while_an_old_pod_does_not_end_no_new_one_runs(
    fake: FakeKube, put: Callable[[FakeKube], None]
) -> None:
    put(fake)
    async with yard(fake, recreate_seconds=1.0) as (training, running):
        await begun(fake, training)
        training.stuck.add("a")
        await ended(fake, P.FAILED, "OldPodStays")
        await eventually(lambda: _kept(running) == 0)
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


async def test_a_bare_pod_that_cannot_be_made_again_keeps_its_template(fake: FakeKube) -> None:
    put_bare(fake)
    async with yard(fake, recreate_seconds=1.0) as (training, _):
        await crowded(fake, training)
        no = kube_faults.Answer(403, "Forbidden")
        fake.faults.order("create", "*/namespaces/default/pods", *[no] * 20)
        training.categories[JOB] = Category.CONVERGED
        await ended(fake, P.FAILED, "NotRecreated")
        (member,) = migrations(fake)[0]["spec"]["members"]
        assert member["template"]["spec"]["containers"]


async def test_every_look_replays(
    fake: FakeKube, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also what was refused in between, and a job that was not moved."""
    put_stateful_set(fake)
    fake.put(paths.DISRUPTION_BUDGETS, _budget(allowed=0))
    async with yard(fake, log=tmp_path, cooldown_seconds=60) as (training, running):
        await begun(fake, training)
        await eventually(lambda: fake.verbs("pods/eviction"), PATIENCE_SECONDS)
        fake.put(paths.DISRUPTION_BUDGETS, _budget(allowed=1))
        await ended(fake, P.COMPLETED)
        await eventually(lambda: _declined(running, "default/statefulset/m"))
    given = ExtenderSettings.model_validate({**SHELL, **settings({"cooldown_seconds": 60})})
    params = core_parameters(given, labels.SCHEDULER_NAME)
    code = await asyncio.to_thread(replay.run, tmp_path, params)
    output = capsys.readouterr().out
    assert code == 0, output
    assert output.endswith(" 0 differ\n")
    lines = await asyncio.to_thread(lambda: "".join(p.read_text() for p in tmp_path.iterdir()))
    assert '"CreateMigration"' in lines
    assert '"DisruptionBudget"' in lines


async def goes_on(training: Training) -> None:
    """The trainer takes steps again where it was."""
    trainer = await eventually(lambda: training.trainer_of(JOB), PATIENCE_SECONDS)
    step = trainer.step
    await eventually(lambda: trainer.step > step + 5, PATIENCE_SECONDS)


def _budget(*, allowed: int) -> dict[str, Any]:
    return {
        "metadata": {"name": "budget", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"directory": JOB}}},
        "status": {"disruptionsAllowed": allowed},
    }


def _suspended(fake: FakeKube) -> bool:
    job = fake.object(paths.JOBS, JOB, "default")
    return bool(job and job["spec"].get("suspend"))


def _events(fake: FakeKube, reason: str) -> list[dict[str, Any]]:
    return [e for e in fake.objects(paths.EVENTS) if e["reason"] == reason]


def _declined(running: Extender, job: str) -> str:
    loop = next(one for one in running.parts.loops if isinstance(one, MigrationController))
    return next((one.reason for one in loop.declined() if one.job == job), "")


def _kept(running: Extender) -> int:
    known = _snapshot(running).migrations.values()
    return sum(len(records_migrations.reservations(one, ())) for one in known)


def _reports(running: Extender) -> Mapping[str, object]:
    return _snapshot(running).reports


def _snapshot(running: Extender) -> Snapshot:
    recorder = next(one for one in running.parts.loops if isinstance(one, Recorder))
    return recorder.store.snapshot()
