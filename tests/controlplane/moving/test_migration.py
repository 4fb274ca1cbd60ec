"""Migrations under the real controllers: every kind of owner, evictions, suspended Jobs, RBAC.

kwok plays the nodes, the test plays agents and trainers; everything else is real.
"""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from devcluster.cluster import Cluster
from shared import labels
from shared.kube import paths
from tests.controlplane import yard as yards
from tests.controlplane.jobs import Manifest, job, pod, stateful_set
from tests.controlplane.moving.crowding import (
    ALONE,
    MEMBERS,
    NODES,
    OPTED_IN,
    PATIENCE_SECONDS,
    SETTINGS,
    SOURCE,
    TARGET,
    crowded,
    ended,
    migrations,
    of,
    prepare,
)
from tests.controlplane.played_agents import PlayedAgents
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane


def indexed() -> Manifest:
    made = job("m", 2, of(MEMBERS, ALONE))
    made["spec"]["backoffLimitPerIndex"] = 1
    return made


def deployment() -> Manifest:
    template = replace(of(MEMBERS, ALONE), spec={"restartPolicy": "Always"}).template()
    template["metadata"]["labels"]["app"] = "m"
    selector = {"matchLabels": {"app": "m"}}
    spec = {"replicas": 1, "selector": selector, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "m"}, "spec": spec}


OWNERS: dict[str, tuple[Manifest, str, int, int]] = {
    "bare pod": (pod("m", of(MEMBERS)), "recreate", 1, 1),
    "job": (job("m", 1, of(MEMBERS)), "suspend", 1, 1),
    "gang": (job("m", 3, of(MEMBERS)), "suspend", 3, 3),
    "indexed job": (indexed(), "evict", 2, 1),
    "stateful set": (stateful_set("m", 1, of(MEMBERS)), "evict", 1, 1),
    "deployment": (deployment(), "evict", 1, 1),
}
"""Manifest, how the pods leave, how many there are, and how many of them go."""


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    return SETTINGS


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[Yard]:
    async with yards.opened(cluster) as yard:
        await prepare(yard)
        yield yard


@pytest.fixture
async def agents(yard: Yard) -> AsyncIterator[PlayedAgents]:
    played = PlayedAgents(yard.cluster, yard.client, yard.team, NODES.names())
    async with played.playing():
        yield played


@pytest.mark.parametrize(("manifest", "mover", "count", "going"), OWNERS.values(), ids=OWNERS)
async def test_a_converged_job_moves_with_every_kind_of_owner(
    yard: Yard, agents: PlayedAgents, manifest: Manifest, mover: str, count: int, going: int
) -> None:
    await crowded(yard, agents, manifest, count)
    agents.converged.add(MEMBERS)
    (one,) = await eventually(lambda: ended(yard), PATIENCE_SECONDS)
    assert one["status"]["phase"] == "Completed", one
    assert one["spec"]["mover"] == mover
    saved = one["status"]["members"][0]
    assert saved["ackedStep"] == saved["resumedStep"] > 0

    async def all_run() -> bool:  # the move asks for no more than its first member
        assert sorted(await nodes_of(yard)) == [SOURCE] * (count - going) + [TARGET] * going
        return True

    await eventually(all_run, PATIENCE_SECONDS)
    if count == 1:
        assert agents.doubled() == []
        assert agents.most[MEMBERS] == 1
    await eventually(lambda: yard.events("Migrated"))  # written after it


async def test_a_budget_holds_a_job_where_it_is(yard: Yard, agents: PlayedAgents) -> None:
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"directory": MEMBERS}}}
    path = paths.namespaced(paths.DISRUPTION_BUDGETS, yard.team)
    await yard.client.post(path, {"metadata": {"name": "b"}, "spec": budget})
    await crowded(yard, agents, job("m", 1, of(MEMBERS)), 1)
    agents.converged.add(MEMBERS)
    found = await eventually(lambda: ended(yard), PATIENCE_SECONDS)
    assert found[0]["status"]["reason"] == "DisruptionBudget"
    assert await nodes_of(yard) == [SOURCE]
    (trainer,) = [t for t in agents.trainers.values() if t.directory == MEMBERS]
    await eventually(lambda: not trainer.holds, PATIENCE_SECONDS)


async def test_a_suspended_job_is_resumed_when_its_migration_is_deleted(
    yard: Yard, agents: PlayedAgents
) -> None:
    manifest = job("m", 1, of(MEMBERS, OPTED_IN))
    hold = ["example.org/hold"]
    manifest["spec"]["template"]["metadata"]["finalizers"] = hold  # the old object stays
    await crowded(yard, agents, manifest, 1)
    agents.converged.add(MEMBERS)
    (one,) = await eventually(lambda: at(yard, "Recreating"), PATIENCE_SECONDS)
    await yard.client.delete(paths.migration(yard.team, one["metadata"]["name"]))
    await eventually(lambda: resumed(yard), PATIENCE_SECONDS)
    for found in await yard.items(paths.pods(yard.team)):
        path = paths.pod(yard.team, found["metadata"]["name"])
        if hold == found["metadata"].get("finalizers", [])[:1]:
            await yard.client.patch(path, {"metadata": {"finalizers": None}})


async def at(yard: Yard, phase: str) -> list[dict[str, Any]]:
    return [m for m in await migrations(yard) if m.get("status", {}).get("phase") == phase]


async def resumed(yard: Yard) -> bool:
    found = json.loads(await yard.client.get(paths.job(yard.team, "m")))
    return not found["spec"].get("suspend") and labels.MIGRATION not in found["metadata"].get(
        "annotations", {}
    )


async def nodes_of(yard: Yard) -> list[str]:
    """Nodes of the job's running pods."""
    found = await yard.items(paths.pods(yard.team))
    return [
        p["spec"].get("nodeName", "")
        for p in found
        if p["metadata"]["labels"].get("directory") == MEMBERS
        and "deletionTimestamp" not in p["metadata"]
        and p["status"].get("phase") == "Running"
    ]
