"""The policy that gates our pods: the API server does it, but only while jobs lack room."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from devcluster import api
from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from devcluster.shuntyard import gate_policy
from shared import labels
from shared.kube import paths
from tests.controlplane import yard as yards
from tests.controlplane.jobs import Pods, job, pod
from tests.controlplane.watching import annotation, is_gated
from tests.controlplane.yard import PATIENCE_SECONDS, Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

PODS = Pods(gated=False)
MOVABLE = PODS.annotated({labels.CHECKPOINT: "/data/it"})
FITS, TOO_MANY = 4, 20
"""Pods of 1 CPU; the cluster has 12."""


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    return {
        "queue": {"settle_seconds": 0.05},
        "gating": {"config_map": gate_policy.CONFIG_MAP, "quiet_seconds": 0.5},
    }


@pytest.fixture(scope="module")
def policy(control_plane: Cluster) -> Iterator[None]:
    """The policy, before the extender starts."""
    control_plane.apply_roles()
    api.call(control_plane.kubeconfig, gate_policy.install)
    yield
    api.call(control_plane.kubeconfig, gate_policy.switch_off)


@pytest.fixture
async def yard(policy: None, cluster: Cluster) -> AsyncIterator[Yard]:
    del policy
    async with yards.opened(cluster) as yard:
        await yard.nodes(KwokNodes(3, cpu="4"))
        yield yard


async def would_gate(yard: Yard, pods: Pods = PODS) -> bool:
    """Ask the API server, without creating a pod."""
    made = await yard.client.post(
        paths.pods(yard.team), pod("asked", pods), params={"dryRun": "All"}
    )
    return is_gated(json.loads(made))


async def until(yard: Yard, *, gated: bool) -> None:
    async def is_so() -> bool:
        return await would_gate(yard) == gated

    await eventually(is_so, PATIENCE_SECONDS, "new pods are gated" if gated else "they are not")


async def test_pods_are_gated_only_while_a_job_lacks_room(yard: Yard) -> None:
    await until(yard, gated=False)
    assert await would_gate(yard, MOVABLE), "a job that may be moved is gated at any time"
    await yard.submit(job("first", FITS, PODS))
    await yard.until_bound("first")
    assert {annotation(one, labels.DIRECT) for one in yard.of("first")} == {"true"}

    await yard.submit(job("wide", TOO_MANY, PODS))
    await yard.until_waiting("wide", "GangDoesNotFit")
    await until(yard, gated=True)
    await yard.submit(job("second", FITS, PODS))
    await yard.until_bound("second")
    assert {annotation(one, labels.DIRECT) for one in yard.of("second")} == {""}

    await yard.client.delete(paths.job(yard.team, "wide"), propagation="Background")
    await until(yard, gated=False)


async def test_submit_leaves_the_gate_to_the_policy(yard: Yard, tmp_path: Path) -> None:
    await until(yard, gated=False)
    file = tmp_path / "job.json"
    file.write_text(json.dumps(job("submitted", FITS, PODS)))
    argv = ("submit", "-f", str(file), "--yes", "-n", yard.team)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cli", *argv, "--kubeconfig", str(yard.cluster.kubeconfig)),
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0
    assert b"the cluster adds the gate to the pods while jobs lack room" in printed
    await eventually(lambda: yard.bound("submitted") == FITS, PATIENCE_SECONDS, "all are bound")
    assert {annotation(one, labels.DIRECT) for one in yard.of("submitted")} == {"true"}


async def test_gangs_are_bound_whole_whenever_the_gate_comes_and_goes(yard: Yard) -> None:
    await until(yard, gated=False)
    names = [f"gang-{number}" for number in range(3)]
    for name in names:  # the first one that does not fit switches the gate on
        await yard.submit(job(f"wide-{name}", TOO_MANY, PODS), job(name, FITS, PODS))
        await asyncio.sleep(0)
    await yard.until_bound(*names)
    assert all(yard.bound(f"wide-{name}") == 0 for name in names)
