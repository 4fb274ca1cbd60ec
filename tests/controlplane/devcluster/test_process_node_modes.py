"""Process nodes where the kernel allows less: rewritten paths, time slices, no privilege."""

import asyncio
import re
import statistics
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.process_node import sandbox
from tests.controlplane.devcluster.process_yard import ProcessYard, container, own_process, pod
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.devcluster]

STEP = """
import time
def step():
    x = 0
    for i in range(60000):
        x += i * i
while True:
    step()
    print("step", time.monotonic(), time.process_time(), flush=True)
"""
WINDOW_STEPS = 30
WINDOWS = 3
# Little enough that a machine busy with other tests can still give it.
BUDGET_CORES = 0.1


@pytest.fixture
def cluster(clean_cluster: Cluster) -> Cluster:
    return clean_cluster


@pytest.fixture
async def rewriting(cluster: Cluster, tmp_path: Path) -> AsyncIterator[ProcessYard]:
    options = ("--sandbox", "rewrite", "--cpu-mechanism", "slices")
    async with own_process(cluster, tmp_path / "nodes", *options) as yard:
        yield yard


async def test_rewritten_paths_lead_to_the_volumes(rewriting: ProcessYard, tmp_path: Path) -> None:
    target = tmp_path / "checkpoints"
    await asyncio.to_thread(target.mkdir)
    script = 'echo 7 > /checkpoints/step; echo "$WHERE"; cat "$SHUNTYARD_HOSTS_FILE"'
    ended = await rewriting.finished(
        pod(
            "rewritten",
            container(
                script,
                env=[{"name": "WHERE", "value": "file:///checkpoints/step"}],
                volumeMounts=[{"name": "v", "mountPath": "/checkpoints"}],
            ),
            volumes=[{"name": "v", "hostPath": {"path": str(target)}}],
        )
    )
    lines = rewriting.log("rewritten").splitlines()
    assert ended["status"]["phase"] == "Succeeded", lines
    assert (target / "step").read_text() == "7\n"
    assert lines[0] == f"file://{target}/step"
    assert f"{ended['status']['podIP']}\trewritten" in lines


async def test_a_volume_that_no_container_mentions_is_refused_in_rewrite_mode(
    rewriting: ProcessYard,
) -> None:
    mounts = [{"name": "v", "mountPath": "/hidden"}]
    await rewriting.create(
        pod(
            "hidden",
            container("true", volumeMounts=mounts),
            volumes=[{"name": "v", "emptyDir": {}}],
        )
    )
    refused = await rewriting.until("hidden", lambda one: "MountNotSupported" in str(one["status"]))
    assert "/hidden" in str(refused["status"]["containerStatuses"])


async def test_a_container_runs_in_a_user_namespace(cluster: Cluster, tmp_path: Path) -> None:
    if problem := await asyncio.to_thread(sandbox.probe, sandbox.USER_NAMESPACE, tmp_path):
        pytest.skip(f"no user namespaces here: {problem}")
    options = ("--sandbox", sandbox.USER_NAMESPACE)
    async with own_process(cluster, tmp_path, *options) as yard:
        mounts = [{"name": "v", "mountPath": "/checkpoints"}]
        script = "echo 7 > /checkpoints/step; cat /checkpoints/step; hostname"
        ended = await yard.finished(
            pod(
                "inside",
                container(script, volumeMounts=mounts),
                volumes=[{"name": "v", "emptyDir": {}}],
            )
        )
        assert ended["status"]["phase"] == "Succeeded", ended["status"]
        assert yard.log("inside") == "7\ninside"


def busy(name: str) -> dict[str, Any]:
    return pod(name, {"name": "main", "image": "none", "command": [sys.executable, "-c", STEP]})


def stamps(yard: ProcessYard, name: str) -> list[tuple[float, float]]:
    """Wall and CPU clock after each step so far."""
    found = re.findall(r"step (\S+) (\S+)", yard.log(name))
    return [(float(wall), float(cpu)) for wall, cpu in found]


def slowness(times: list[tuple[float, float]]) -> float:
    """Seconds that one CPU second of work takes, in the best window.

    Other load of this machine can only make a window worse, and it changes how much CPU time a step
    needs; a step's work is always the same, so this is its duration in a fixed unit.
    """
    starts = range(0, len(times) - WINDOW_STEPS, WINDOW_STEPS)
    ends = [(times[start], times[start + WINDOW_STEPS]) for start in starts]
    return min((last[0] - first[0]) / (last[1] - first[1]) for first, last in ends)


async def measured(yard: ProcessYard, names: list[str]) -> list[float]:
    """Slowness of each pod over the next windows, while all of them run."""
    await eventually(lambda: all(stamps(yard, name) for name in names))
    begun = {name: len(stamps(yard, name)) for name in names}
    wanted = WINDOWS * WINDOW_STEPS + 1

    def enough() -> bool:
        return all(len(stamps(yard, name)) >= begun[name] + wanted for name in names)

    await eventually(enough, 120.0)
    return [slowness(stamps(yard, name)[begun[name] :]) for name in names]


@pytest.mark.alone
@pytest.mark.parametrize("mechanism", ["auto", pytest.param("slices", marks=pytest.mark.e2e)])
async def test_two_pods_on_a_node_take_twice_as_long_per_step_as_one(
    cluster: Cluster, tmp_path: Path, mechanism: str
) -> None:
    """Live comparisons of placements rest on this calibration."""
    options = ("--cpu-mechanism", mechanism, "--cpu-budget-cores", str(BUDGET_CORES))
    async with own_process(cluster, tmp_path, *options) as yard:
        await yard.create(busy("one"))
        alone = await measured(yard, ["one"])
        await yard.create(busy("two"))
        together = await measured(yard, ["one", "two"])
        ratio = statistics.mean(together) / alone[0]
        assert alone[0] == pytest.approx(1 / BUDGET_CORES, rel=0.15)
        assert 1.8 <= ratio <= 2.2, (alone, together)
