"""An extender and a job without a step time: profiled, timed, then admitted.

The agents' clock is simulated: every report adds six seconds.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from extender.controllers.pricing import PricingController
from extender.core.agents.heartbeats import NodeHeartbeat
from extender.core.records import profile, slot_plan
from extender.core.records.profile import Profile
from extender.core.records.slot_plan import SlotPlan
from extender.writers.decision_log.recorder import Recorder
from extender.writers.history import NAME
from shared.kube import parse, paths
from shared.model import NodeName, Owner, Uid
from shared.progress import PodReport, Progress
from shared.readapi import api
from shared.readapi.pricing import ProfileEntry
from tests.component.shell import Extender, MiniScheduler, bound, extender, lease, node
from tests.component.test_admitted import NAMESPACE, RICH, read, submit
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

PATIENCE_SECONDS = 60.0
SETTINGS = {
    "admission": {"enabled": True, "slot_seconds": 5.0, "horizon": 300, "share": 0.5},
    "agent_reports": {"stale_seconds": 600.0},
}
TRAINING = "epochs=1,chunks=2,batches=100"
"""200 mini-batches: with 1000 steps of 0.6 s on two workers 6 s each."""
Result = TypeVar("Result")


@dataclass
class Agents:
    """They report for node ``a``, as if their clock went on by six seconds each time."""

    fake: FakeKube
    running: Extender
    step: int = 0
    sequence: int = 0

    def beat(self) -> None:
        self.step, self.sequence = self.step + 10, self.sequence + 1
        loops = self.running.parts.loops
        recorder = next(loop for loop in loops if isinstance(loop, Recorder))
        progress = Progress(
            metric="loss", source="jsonl", step=self.step, total_steps=1000,
            updated_at=6.0 * self.sequence,
        )  # fmt: skip
        uids = [Uid(one["metadata"]["uid"]) for one in self.fake.objects(paths.PODS)]
        recorder.report(
            NodeHeartbeat(
                node=NodeName("a"), boot="played", sequence=self.sequence, full=True,
                sent_at=0.0, received_at=recorder.clock.monotonic(),
                pods=tuple(PodReport(uid=uid, progress=progress) for uid in uids),
            )
        )  # fmt: skip
        next(loop for loop in loops if isinstance(loop, PricingController)).changed.set()

    async def until(self, wanted: Callable[[], Awaitable[Result | None]], what: str) -> Result:
        """Report until the check is true."""

        async def there() -> Result | None:
            self.beat()
            return await wanted()

        found = await eventually(there, PATIENCE_SECONDS, what)
        assert found is not None
        return found


def owner(fake: FakeKube) -> Owner:
    return parse.decode_job(msgspec.json.encode(fake.object(paths.JOBS, "first", "default")))


def run_of(fake: FakeKube) -> Profile | None:
    return profile.read(owner(fake))


@contextlib.asynccontextmanager
async def one_life(fake: FakeKube) -> AsyncIterator[tuple[Extender, Agents]]:
    async with (
        extender(fake, **SETTINGS) as one,
        MiniScheduler(fake, one.scheduler_url).running(),
    ):
        yield one, Agents(fake, one)


@contextlib.asynccontextmanager
async def cluster() -> AsyncIterator[FakeKube]:
    async with FakeKube.running() as fake, lease(fake):
        fake.put(paths.NODES, node("a"))
        fake.put(paths.CONFIG_MAPS, {"metadata": {"name": NAME, "namespace": NAMESPACE}})
        submit(fake, "first", RICH, training=TRAINING)
        yield fake


async def test_a_job_without_a_step_time_is_measured_while_it_runs_and_then_admitted() -> None:
    async with cluster() as fake, one_life(fake) as (one, agents):
        await eventually(lambda: len(bound(fake)) == 2, PATIENCE_SECONDS)
        assert slot_plan.read(owner(fake)) is None

        async def measured() -> ProfileEntry | None:
            explained = await read(
                one, "explain", api.ExplainResponse, namespace="default", job="first"
            )
            entry: ProfileEntry | None = explained.admission and explained.admission.profile
            return entry if explained.reason == "Profiling" and entry and entry.steps else None

        assert (await agents.until(measured, "its steps are timed")).lacks

        async def plan() -> SlotPlan | None:
            return slot_plan.read(owner(fake))

        found = await agents.until(plan, "it is admitted")
        assert dict(found.spans[0].workers) == {"a": 2}
        assert found.done > 0
        assert "whole-step=" in found.request.training
        assert len(bound(fake)) == 2


async def test_a_restart_at_any_moment_loses_no_run() -> None:
    async with cluster() as fake:
        async with one_life(fake) as (_, agents):

            async def since() -> float | None:
                run = run_of(fake)
                return None if run is None else run.since

            first = await agents.until(since, "it runs")
        async with one_life(fake) as (_, agents):

            async def measured() -> Profile | None:
                run = run_of(fake)
                return run if run is not None and run.batch_seconds else None

            run = await agents.until(measured, "it is measured")
            assert (run.since, run.reported) == (first, False)
            assert abs((run.batch_seconds or 0.0) - 6.0) < 0.01
        async with one_life(fake) as (_, agents):

            async def plan() -> SlotPlan | None:
                return slot_plan.read(owner(fake))

            await agents.until(plan, "it is admitted")
            assert len(bound(fake)) == 2
