"""Installed by ``kubectl apply -k`` on two real nodes: it schedules, moves, is updated, goes.

Everything runs in containers, from our images, under the rights of deploy/base.
"""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from bench.specon.files import overlaps
from devcluster import api
from devcluster.cluster import Cluster
from devcluster.real_nodes.installation import AGENTS, SYSTEM, Installation, image
from devcluster.shuntyard.extender_process import merged
from shared.kube import paths
from tests.controlplane.devcluster.real_yard import FIRST as FIRST_NODE
from tests.controlplane.devcluster.real_yard import SECOND as SECOND_NODE
from tests.controlplane.real_training_yard import AGENT_SETTINGS, NODES, SETTINGS
from tests.controlplane.training_yard import PATIENCE_SECONDS, converging, two_at_once
from tests.controlplane.watching import is_gated, job_of
from tests.fakes.eventually import eventually
from tests.install import remains
from tests.install.tags import FIRST, NEXT
from tests.install.yard import InstalledYard, gang, lent

pytestmark = [pytest.mark.e2e]

CORES = {"sampling": {"cores": 1.0}}
"""An agent sees all of this machine, other nodes' pods too, so it gets its node's resources."""
TEAM = "team-"
"""What the other tests' jobs were in stays, as users' namespaces do."""
AGENTS_PORT = 10263
AGENTS_NAME = "shuntyard-agents.shuntyard-system.svc"
SHORT = 'print(\'{"step": 1, "loss": 0.5}\', flush=True)'


@dataclass(frozen=True)
class Installed:
    """An installation, and what the cluster had before it."""

    installation: Installation
    before: set[str]
    ready_seconds: float


@pytest.fixture(scope="module")
def installed(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    before = api.call(cluster.kubeconfig, remains.objects)
    installation = Installation(tmp_path_factory.mktemp("yard"), cluster.kubeconfig)
    write(installation, cluster, FIRST)
    begun = time.monotonic()
    installation.apply()
    installation.await_ready()
    try:
        yield Installed(installation, before, time.monotonic() - begun)
    finally:
        installation.delete()


def write(installation: Installation, cluster: Cluster, tag: str) -> None:
    more = merged(AGENT_SETTINGS, CORES)
    installation.write(tag, cluster.layout.volume, settings=SETTINGS, agent_settings=more)


@pytest.fixture
async def yard(cluster: Cluster, installed: Installed) -> AsyncIterator[InstalledYard]:
    async with lent(cluster) as yard:
        yield yard


async def test_both_replicas_are_ready_on_different_nodes_and_agents_verify_them(
    yard: InstalledYard, installed: Installed
) -> None:
    replicas = await yard.replicas()
    assert sorted(pod["spec"]["nodeName"] for pod in replicas) == sorted(NODES)
    authority = await api.get(
        yard.client, paths.namespaced("/api/v1/configmaps", AGENTS, "shuntyard-ca")
    )
    trust = ssl.create_default_context(cadata=authority["data"]["ca.crt"])
    for pod in replicas:
        address = pod["status"]["podIP"]
        _, writer = await asyncio.open_connection(
            address, AGENTS_PORT, ssl=trust, server_hostname=AGENTS_NAME
        )
        writer.close()
        await writer.wait_closed()
    print(f"ready {installed.ready_seconds:.1f} s after kubectl apply")  # noqa: T201 - a figure


async def test_a_job_that_only_names_our_scheduler_is_placed_shown_and_gated_while_jobs_wait(
    yard: InstalledYard,
) -> None:
    begun = time.monotonic()
    await yard.submit(gang("first", SHORT))
    await yard.until_bound("first")
    bound_seconds = time.monotonic() - begun
    await yard.cordon(NODES)
    await yard.submit(gang("waits", SHORT))
    await yard.until_there("waits")

    async def shown() -> bool:
        printed = await asyncio.to_thread(yard.run_command, "queue", "--namespace", yard.team)
        assert "waits" in printed, printed
        return True

    await eventually(shown, PATIENCE_SECONDS, "the queue shows what waits")
    await eventually(lambda: _would_gate(yard), PATIENCE_SECONDS, "new pods are gated")
    await yard.submit(gang("gated", SHORT))
    await yard.until_there("gated")
    assert all(map(is_gated, yard.of("gated")))
    await yard.cordon(NODES, cordoned=False)
    await yard.until_bound("waits", "gated")
    print(f"a gang of two was bound after {bound_seconds:.1f} s")  # noqa: T201 - a figure


async def _would_gate(yard: InstalledYard) -> bool:
    """Ask the API server, without creating a pod: the policy gates while jobs lack room."""
    pod = {"metadata": {"name": "asked"}, "spec": gang("asked", SHORT)["spec"]["template"]["spec"]}
    made = await yard.client.post(paths.pods(yard.team), pod, params={"dryRun": "All"})
    return is_gated(json.loads(made))


async def test_a_converged_job_moves_to_the_other_node_with_its_checkpoint(
    yard: InstalledYard,
) -> None:
    training = converging("it", steps=300, save_seconds=0.5)
    await yard.begin_on(FIRST_NODE, training, yard.job(training))
    ended = await yard.until_phase("Completed")
    await yard.until_done("it")
    before, after = yard.files("it").lives()
    (ack,) = yard.files("it").acks()
    steps = yard.files("it").steps()
    assert (before.node, after.node) == (FIRST_NODE, SECOND_NODE)
    assert overlaps((before, after)) == ()
    assert [step.step for step in steps] == list(range(1, 301))
    (member,) = ended["status"]["members"]
    assert (member["ackedStep"], member["resumedStep"]) == (ack.step, ack.step)
    entry = await yard.own_entry()
    assert (entry.trigger, entry.lost_steps) == ("converged", 0)


async def test_an_update_under_load_loses_nothing_and_fails_no_call(
    yard: InstalledYard, installed: Installed, cluster: Cluster
) -> None:
    training = converging("runs-on", steps=600, movable=False)
    await yard.train(training, yard.job(training))
    await yard.until_bound("runs-on")
    old = {pod["metadata"]["uid"] for pod in await yard.replicas()}
    write(installed.installation, cluster, NEXT)
    names = await _submitting_while(yard, lambda: _changed(installed.installation))
    replicas = await eventually(lambda: _without(yard, old), PATIENCE_SECONDS, "the old are gone")
    used = {c["image"] for pod in replicas for c in pod["spec"]["containers"]}
    assert used == {image(name, NEXT) for name in ("shuntyard-extender", "kube-scheduler")}
    await yard.until_bound(*names)
    await yard.until_done("runs-on")
    (life,) = yard.files("runs-on").lives()
    assert life.pod
    assert two_at_once(yard.history, lambda pod: job_of(pod) == yard.key("runs-on")) == []
    failed = [
        event.pod["metadata"]["name"]
        for event in yard.history.events
        if event.pod["metadata"]["namespace"] in {yard.team, SYSTEM, AGENTS}
        and event.pod["status"].get("phase") == "Failed"
    ]
    assert failed == []
    print(f"{len(names)} gangs were submitted during the update")  # noqa: T201 - a figure


async def _without(yard: InstalledYard, old: set[str]) -> list[dict[str, Any]]:
    replicas = await yard.replicas()
    assert not old & {pod["metadata"]["uid"] for pod in replicas}
    return replicas


def _changed(installation: Installation) -> None:
    installation.apply()
    installation.await_ready()


async def _submitting_while(yard: InstalledYard, work: Callable[[], None]) -> list[str]:
    """Submit a gang as soon as the one before it is bound, until the work is done."""
    names: list[str] = []
    async with asyncio.TaskGroup() as group:
        task = group.create_task(asyncio.to_thread(work))
        while not task.done():
            names.append(f"gang-{len(names)}")
            await yard.submit(gang(names[-1], SHORT))
            await yard.until_bound(names[-1])
    return names


async def test_nothing_is_left_when_it_is_deleted_and_it_can_be_installed_again(
    cluster: Cluster, installed: Installed
) -> None:
    installation = installed.installation
    await asyncio.to_thread(installation.delete)

    async def gone() -> bool:
        now = await asyncio.to_thread(api.call, cluster.kubeconfig, remains.objects)
        left = [one for one in sorted(now - installed.before) if TEAM not in one]
        assert left == [], left
        return True

    await eventually(gone, PATIENCE_SECONDS, "everything of ours is gone")
    await asyncio.to_thread(_changed, installation)
