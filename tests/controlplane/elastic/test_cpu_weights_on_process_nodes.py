"""CPU requests follow remaining work on a real control plane: real agents, trainers, processes."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

import pytest

from bench.specon.jobs import Training
from devcluster.cluster import Cluster
from devcluster.components.process_nodes import process_nodes
from devcluster.options import ProcessNodes
from devcluster.shuntyard.extender_process import STOP_SECONDS
from shared import labels, quantity
from shared.kube import paths
from shared.system_clock import SystemClock
from tests.controlplane.training_yard import AGENT_SETTINGS, TrainingYard, component, lent
from tests.controlplane.watching import Object
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

NODE: Final = "east-0000"
GIVEN_MILLI: Final = 200
STEPS: Final[Mapping[str, int]] = {"short": 500, "middle": 1500, "long": 4500}
PATIENCE_SECONDS: Final = 60.0
WINDOW_SECONDS: Final = 10.0
SETTINGS: Final[Mapping[str, Any]] = {
    "queue": {"settle_seconds": 0.1},
    "migration": {"policy": "none"},
    "agent_reports": {"stale_seconds": 5},
    "cpu_weights": {"enabled": True, "interval_seconds": 2},
}


@pytest.fixture(scope="module")
def cluster(control_plane: Cluster) -> Iterator[Cluster]:
    control_plane.empty()
    wanted = ProcessNodes(1, cpu="1", memory="2Gi", prefix="east")
    nodes = {component(NODE): process_nodes(control_plane.layout, wanted)}
    control_plane._supervisor.launch(nodes)
    control_plane._await_nodes(component(NODE), frozenset(wanted.names()))
    control_plane.start_shuntyard(SETTINGS)
    control_plane.start_default_scheduler()
    control_plane.start_agents(AGENT_SETTINGS)
    yield control_plane
    control_plane.empty()


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[TrainingYard]:
    async with lent(cluster, (NODE,)) as yard:
        yield yard


def requests(pods: list[Object]) -> dict[str, int]:
    """Milli-CPU by job, of the pods that run."""
    return {
        pod["metadata"]["labels"]["job-name"]: quantity.base_units(
            "cpu", pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
        )
        for pod in pods
        if pod["status"]["phase"] == "Running"
    }


def notes(pods: list[Object]) -> set[str]:
    annotations = [pod["metadata"].get("annotations", {}) for pod in pods]
    return {found[labels.CPU_GIVEN] for found in annotations if labels.CPU_GIVEN in found}


async def weighed(yard: TrainingYard) -> dict[str, int]:
    """Return the requests once they follow the order of the remaining work."""
    found = requests(await yard.items(paths.pods(yard.team)))
    assert set(found) == set(STEPS)
    in_order = [found[name] for name in STEPS]
    assert all(more > less for more, less in pairwise(in_order)), found
    assert in_order[0] > GIVEN_MILLI > in_order[-1], found
    return found


async def restored(yard: TrainingYard) -> bool:
    pods = await yard.items(paths.pods(yard.team))
    assert set(requests(pods).values()) == {GIVEN_MILLI}, requests(pods)
    assert notes(pods) == set()
    return True


async def acting(yard: TrainingYard) -> bool:
    return bool(json.loads(await yard.read("/v1/queue"))["acting"])


def steps_done(yard: TrainingYard, job: str, since: float) -> int:
    return sum(step.at >= since for step in yard.files(job).steps())


async def test_the_job_nearest_to_its_end_runs_fastest_and_all_requests_return(
    yard: TrainingYard,
) -> None:
    for name, steps in STEPS.items():
        training = Training(
            name, steps, step_cpu_seconds=0.01, cpu=f"{GIVEN_MILLI}m", movable=False
        )
        await yard.train(training)
    found = await eventually(lambda: weighed(yard), PATIENCE_SECONDS)
    assert sum(found.values()) <= 3 * GIVEN_MILLI
    await _speeds_follow(yard)
    await asyncio.to_thread(yard.cluster.kill, "extender")
    pods = await yard.items(paths.pods(yard.team))
    assert notes(pods) == {f"training={GIVEN_MILLI}m"}
    await asyncio.to_thread(yard.cluster.start, "extender")
    await eventually(lambda: acting(yard), PATIENCE_SECONDS)
    await eventually(lambda: weighed(yard), PATIENCE_SECONDS)
    begun = time.monotonic()
    await asyncio.to_thread(yard.cluster.stop, "extender")
    assert time.monotonic() - begun < STOP_SECONDS  # it was not killed
    assert await restored(yard)
    await asyncio.to_thread(yard.cluster.start, "extender")
    await yard.until_done("short")


async def _speeds_follow(yard: TrainingYard) -> None:
    """Compare the steps done over a while with the requests, which may change meanwhile."""
    clock = SystemClock()
    since = at = clock.now()
    due = dict.fromkeys(STEPS, 0.0)
    while at < since + WINDOW_SECONDS:
        found = requests(await yard.items(paths.pods(yard.team)))
        await asyncio.sleep(0.25)
        before, at = at, clock.now()
        for name in STEPS:
            due[name] += (at - before) * found[name] / sum(found.values())
    done = {name: steps_done(yard, name, since) for name in STEPS}
    parts = {name: count / sum(done.values()) for name, count in done.items()}
    wanted = {name: seconds / sum(due.values()) for name, seconds in due.items()}
    assert parts == pytest.approx(wanted, rel=0.2, abs=0.02), (done, wanted)
    assert parts["short"] > 1.5 * parts["long"], done
