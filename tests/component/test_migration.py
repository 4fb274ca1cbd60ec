"""A converged job of any owner moves by its checkpoint, and no step is done twice."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from extender.app import replay
from extender.controllers.migration import MigrationController
from extender.controllers.observe import optional_kind
from extender.core.cluster.snapshot import Snapshot
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
    budget,
    ended,
    goes_on,
    migrations,
    places,
    put_bare,
    put_indexed_job,
    put_job,
    put_stateful_set,
    settings,
    yard,
)
from tests.component.shell import QUICK as SHELL
from tests.component.shell import Extender, lease, node
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a")


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


async def test_a_job_moves_once(fake: FakeKube) -> None:
    put_stateful_set(fake)
    async with yard(fake) as (training, running):
        await begun(fake, training)
        await ended(fake, P.COMPLETED)
        for name in ("g1", "g2"):
            put_bare(fake, name, opted_in=False)
        declined = await eventually(lambda: _declined(running, "default/statefulset/m"))
        assert declined in {"MovesUsedUp", "NoFastPeers"}
        assert len(migrations(fake)) == 1


async def test_without_the_resource_no_job_moves_and_all_run_on(
    fake: FakeKube, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optional_kind, "CATALOG_SECONDS", 0.2)
    fake.absent.add(paths.MIGRATIONS)
    put_bare(fake)
    async with yard(fake) as (training, running):
        await begun(fake, training)
        # At first the agent has reported no progress, which is looked at first.
        await eventually(lambda: _declined(running, "default/pod/m") == "CRDMissing")
        fake.absent.clear()  # installed while it runs: observed at the next try
        await ended(fake, P.COMPLETED)


async def test_a_budget_that_forbids_the_eviction_too_long_aborts_and_the_trainer_goes_on(
    fake: FakeKube,
) -> None:
    put_stateful_set(fake)
    fake.put(paths.DISRUPTION_BUDGETS, budget(allowed=0))
    async with yard(fake, evict_seconds=1.0, hold_seconds=2.0, cooldown_seconds=60) as (
        training,
        _,
    ):
        await begun(fake, training)
        await ended(fake, P.ABORTED, "DisruptionBudget")
        assert places(training) == ["a"]
        await goes_on(training)
    assert training.doubled() == {}


async def test_a_budget_that_allows_the_eviction_later_completes(fake: FakeKube) -> None:
    put_stateful_set(fake)
    fake.put(paths.DISRUPTION_BUDGETS, budget(allowed=0))
    async with yard(fake) as (training, _):
        await begun(fake, training)
        await eventually(lambda: fake.verbs("pods/eviction"), PATIENCE_SECONDS)
        fake.put(paths.DISRUPTION_BUDGETS, budget(allowed=1))
        await ended(fake, P.COMPLETED)


async def test_a_budget_of_one_forbids_the_move_of_a_gang_of_two(fake: FakeKube) -> None:
    put_job(fake, size=2)
    fake.put(paths.DISRUPTION_BUDGETS, budget(allowed=1))
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
async def test_a_lost_answer_and_a_failed_inquiry_delay_a_move_only(
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


async def test_a_standby_moves_no_job_until_it_leads() -> None:
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


async def test_every_pass_replays(
    fake: FakeKube, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Include a refused eviction, and a job that is not moved."""
    put_stateful_set(fake)
    fake.put(paths.DISRUPTION_BUDGETS, budget(allowed=0))
    async with yard(fake, log=tmp_path, cooldown_seconds=60) as (training, running):
        await begun(fake, training)
        await eventually(lambda: fake.verbs("pods/eviction"), PATIENCE_SECONDS)
        fake.put(paths.DISRUPTION_BUDGETS, budget(allowed=1))
        await ended(fake, P.COMPLETED)
        await eventually(lambda: _declined(running, "default/statefulset/m"))
    extender_settings = ExtenderSettings.model_validate(
        {**SHELL, **settings({"cooldown_seconds": 60})}
    )
    params = core_parameters(extender_settings, labels.SCHEDULER_NAME)
    code = await asyncio.to_thread(replay.run, tmp_path, params)
    output = capsys.readouterr().out
    assert code == 0, output
    assert output.endswith(" 0 differ\n")
    lines = await asyncio.to_thread(lambda: "".join(p.read_text() for p in tmp_path.iterdir()))
    assert '"CreateMigration"' in lines
    assert '"DisruptionBudget"' in lines


def _events(fake: FakeKube, reason: str) -> list[dict[str, Any]]:
    return [e for e in fake.objects(paths.EVENTS) if e["reason"] == reason]


def _declined(running: Extender, job: str) -> str:
    loops = running.parts.loops
    controller = next(loop for loop in loops if isinstance(loop, MigrationController))
    return next((d.reason for d in controller.declined() if d.job == job), "")


def _reports(running: Extender) -> Mapping[str, object]:
    return _snapshot(running).reports


def _snapshot(running: Extender) -> Snapshot:
    recorder = next(loop for loop in running.parts.loops if isinstance(loop, Recorder))
    return recorder.store.snapshot()
