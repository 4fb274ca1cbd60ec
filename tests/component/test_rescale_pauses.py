"""A slot plan pauses a job and brings it back, wherever the extender is killed meanwhile."""

from dataclasses import dataclass
from typing import Any

import pytest

from extender.core.elastic.decision import ELASTIC
from extender.core.records.rescale import Cause, Phase, Proposal
from shared.model import JobKey
from tests.component.elastic_workers import (
    CHECKPOINT,
    JOB,
    PATIENCE_SECONDS,
    ElasticWorkers,
    elastic_cluster,
    life,
    put_job,
)
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a")

QUIET: dict[str, Any] = {"enabled": False, "checkpoint_seconds": 30.0, "hold_seconds": 30.0}
"""Only the plan changes the job."""


@dataclass(frozen=True)
class Undisturbed(kube_faults.Fault):
    """No fault: lets a request pass on the way to the intended one."""


@dataclass
class Plan:
    """The number of workers that the slot plan has now."""

    workers: int = 2

    def proposals(self, *_: object) -> tuple[Proposal, ...]:
        return (Proposal(JobKey(f"default/job/{JOB}"), self.workers, Cause.SLOT),)


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    made = Plan()
    monkeypatch.setattr(ELASTIC, "_propose", made.proposals)
    return made


async def has(workers: ElasticWorkers, count: int) -> None:
    await eventually(
        lambda: (
            workers.wanted() == count == workers.running_workers()
            and (one := workers.rescale()) is not None
            and (one.phase, one.to) == (Phase.DONE, count)
        ),
        PATIENCE_SECONDS,
        str(workers.rescale()),
    )


STEPS = {"undisturbed": 0, "ask": 1, "suspend": 2, "paused": 3, "resume": 4, "back": 5}


@pytest.mark.parametrize("how", ["before", "after"])
@pytest.mark.parametrize("count", STEPS.values(), ids=STEPS)
async def test_a_plan_pauses_a_job_after_its_checkpoint_and_brings_it_back(
    fake: FakeKube, plan: Plan, count: int, how: str
) -> None:
    put_job(fake, 2, CHECKPOINT)
    async with elastic_cluster(fake, **QUIET) as (workers, first):
        await eventually(lambda: workers.running_workers() == 2, PATIENCE_SECONDS)
        if count:
            stop = kube_faults.Slow() if how == "before" else kube_faults.LostAnswer()
            fake.faults.order("patch", f"*/jobs/{JOB}", *[Undisturbed()] * (count - 1), stop)
        plan.workers = 0
        if count in {1, 2, 3}:
            await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
            await first.kill()
            async with life(fake, workers, **QUIET):
                await has(workers, 0)
                plan.workers = 3
                await has(workers, 3)
        else:
            await has(workers, 0)
            plan.workers = 3
            if count:
                await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
                await first.kill()
                async with life(fake, workers, **QUIET):
                    await has(workers, 3)
            await has(workers, 3)
    assert (workers.written, workers.lost) == ([2, 0, 3], [])
