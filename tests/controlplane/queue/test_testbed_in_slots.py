"""The OASiS testbed through a whole extender, slot after slot, beside the simulator's answer.

Twelve jobs come over ten slots of real time on the paper's nine machines, here kwok's; the real Job
controller creates and removes workers as the plans order, and the test ends each job as its last
slot ends. The workers that ran in each slot are compared, not the plans.

The simulator plans up to one last slot for all, the service so many slots ahead. With twenty of
them no job here reaches the last one, so both have the same input.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
import pytest

from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from extender.core.pricing import history
from extender.core.pricing.training_job import TrainingJob
from extender.core.records.slot_plan import SlotPlan
from extender.writers.history import KEY, NAME
from shared import labels
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from shared.system_clock import SystemClock
from simulator.experiments.oasis import contest
from simulator.models.slot_world import SlotWorkload
from tests.controlplane import yard as yards
from tests.controlplane.jobs import Manifest, Pods, job
from tests.controlplane.yard import Yard
from tests.unit.core.pricing import testbed_cluster
from tests.unit.core.pricing.testbed_cluster import SERVERS, Slots

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

CLOCK: Final = SystemClock()
SLOT_SECONDS: Final = 40.0
"""A job must be planned within a twentieth of the slot in which it comes: a later plan has so much
more to do, and differs. A machine that takes two seconds for that is too busy."""
HORIZON: Final = 20
LOOK_AT: Final = 0.75
"""Part of a slot after which the workers are counted."""
END_AT: Final = 0.85
"""Part of its last slot after which a job is ended: its plan must not be over before it is, and the
Job controller, which makes twenty requests a second, must be done with it when others come."""
HISTORY: Final = paths.namespaced(paths.CONFIG_MAPS, "shuntyard-system", NAME)
SETTINGS: Final = {
    "admission": {
        "enabled": True,
        "slot_seconds": SLOT_SECONDS,
        "horizon": HORIZON,
        "share": 1.0,
        "server_label": SERVERS,
    },
    "price_bounds": {"rule": "kappa", "kappa": contest.KAPPA},
    "scaling": {"enabled": False, "interval_seconds": 0.3},
    "migration": {"policy": "none"},
    "queue": {"settle_seconds": 0.05},
}


def workload(seed: int) -> SlotWorkload:
    """Return the twelve jobs, without parameter servers."""
    drawn = testbed_cluster.workload(seed, servers=0)
    return replace(drawn, cluster=replace(drawn.cluster, horizon=HORIZON))


@dataclass
class Run:
    """One run; slots are counted as the simulator counts them, from 1.

    Attributes:
        first: Slot 1, counted since the epoch.
        ran: Workers that were on nodes, by job and slot.
        waited: Slots in which a job with a plan waited for its first one.
    """

    yard: Yard
    jobs: SlotWorkload
    first: int
    ran: Slots
    waited: dict[str, list[int]]

    async def slot(self, number: int) -> None:
        """Play one slot."""
        await self._until(number, 0.0)
        for one in self.jobs.jobs:
            if one.arrival == number:
                await self.yard.submit(manifest(one))
        await self._until(number, LOOK_AT)
        plans = await self._plans()
        for name, plan in plans.items():
            self._count(name, number, plan)
        await self._until(number, END_AT)
        for name, plan in plans.items():
            if plan.completion == self.first + number - 1:
                await self.yard.client.delete(
                    paths.job(self.yard.team, name), propagation="Background"
                )

    def _count(self, name: str, number: int, plan: SlotPlan) -> None:
        workers = self.yard.bound(name)
        if workers:
            self.ran.setdefault(name, {})[number] = workers
        elif plan.spans and plan.spans[0].first > self.first + number - 1:
            self.waited.setdefault(name, []).append(number)

    async def _plans(self) -> Mapping[str, SlotPlan]:
        found = await self.yard.items(paths.namespaced(paths.JOBS, self.yard.team))
        by_job = {one["metadata"]["name"]: one["metadata"].get("annotations", {}) for one in found}
        return {
            name: msgspec.json.decode(annotations[labels.SLOT_PLAN], type=SlotPlan)
            for name, annotations in by_job.items()
            if labels.SLOT_PLAN in annotations
        }

    async def _until(self, number: int, part: float) -> None:
        at = (self.first + number - 1 + part) * SLOT_SECONDS
        await asyncio.sleep(max(0.0, at - CLOCK.now()))  # the clock is what is waited for


def manifest(one: TrainingJob) -> Manifest:
    """Return the Job: one worker at first, as many as its plan says afterwards."""
    by_job = testbed_cluster.annotations(one, SLOT_SECONDS) | {labels.SHRINK: "terminate"}
    asks = {name: str(amount) for name, amount in testbed_cluster.worker_shape(one).requests}
    cpu = f"{int(asks.pop('cpu'))}m"
    asks.pop("pods")
    pods: dict[str, Any] = job(one.name, 1, Pods(cpu=cpu, memory=asks.pop("memory"), more=asks))
    pods["metadata"]["annotations"] = by_job
    pods["spec"]["backoffLimit"] = 1000
    return pods


def nodes(jobs: SlotWorkload) -> list[KwokNodes]:
    """Return the nine machines: four workers with a GPU, three without, two for servers."""
    made = testbed_cluster.nodes(jobs)
    return [
        KwokNodes(
            1,
            prefix=node.name,
            cpu=f"{node.allocatable['cpu']}m",
            memory=str(node.allocatable["memory"]),
            extended={
                name: str(amount)
                for name, amount in node.allocatable.items()
                if name not in {"cpu", "memory", "pods"}
            },
            labels={k: v for k, v in node.labels.items() if k == SERVERS},
        )
        for node in made
    ]


async def play(cluster: Cluster, seed: int) -> Run:
    """Run the twelve jobs, with their requests known in advance as in the simulator."""
    jobs = workload(seed)
    known = history.text(testbed_cluster.history(jobs, SLOT_SECONDS))
    credentials = await asyncio.to_thread(auth.load, cluster.kubeconfig)
    async with KubeClient.connect(credentials) as client:
        await client.patch(HISTORY, {"data": {KEY: known}})
    await asyncio.to_thread(yards.start, cluster, SETTINGS)
    async with yards.opened(cluster) as yard:
        for one in nodes(jobs):
            await yard.nodes(one)
        run = Run(yard, jobs, int(CLOCK.now() // SLOT_SECONDS) + 2 - first(jobs), {}, {})
        for number in range(first(jobs), last(jobs) + 1):
            await run.slot(number)
        yard.sizes.clear()  # gangs of one, whatever their number of workers
    return run


def first(jobs: SlotWorkload) -> int:
    """Return the slot in which the first job comes."""
    return min(one.arrival for one in jobs.jobs)


def last(jobs: SlotWorkload) -> int:
    """Return the last slot in which a job runs, by the simulator."""
    return max(slot for slots in testbed_cluster.simulated(jobs).values() for slot in slots)


@pytest.mark.parametrize("seed", [7])
async def test_the_same_jobs_run_with_the_same_workers_in_the_same_slots(
    clean_cluster: Cluster, seed: int
) -> None:
    run = await play(clean_cluster, seed)
    expected = testbed_cluster.simulated(run.jobs)
    assert run.ran == expected
    late = {one.name: list(range(one.arrival, min(expected[one.name]))) for one in run.jobs.jobs}
    assert run.waited == {name: slots for name, slots in late.items() if slots}


@pytest.mark.parametrize("seed", [4])
async def test_the_same_jobs_run_where_one_would_have_to_move(
    clean_cluster: Cluster, seed: int
) -> None:
    run = await play(clean_cluster, seed)
    expected = testbed_cluster.simulated(run.jobs)
    assert run.ran != expected
    assert set(run.ran) == set(expected)
