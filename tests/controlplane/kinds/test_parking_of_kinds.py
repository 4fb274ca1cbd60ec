"""Jobs of every kind are parked after a checkpoint, come back and move, under real controllers.

kwok simulates the nodes, and the test plays the agents and trainers, over the real listener. The
user parks, resumes and moves each job with the command line.
"""

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest

from cli.__main__ import main
from devcluster import operator_catalog, operators
from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from extender.core.records.parking import Cause, Parking, Phase
from extender.core.records.parking_reasons import ParkingReason
from shared import labels
from shared.kube import paths
from shared.model import Owner
from tests.controlplane.jobs import job, stateful_set
from tests.controlplane.kinds import test_elastic_operators as manifests
from tests.controlplane.kinds.jobs_of_kinds import (
    CASES,
    DIRECTORY,
    Case,
    opted_in,
    ray_job,
    ray_service,
)
from tests.controlplane.kinds.shrinking import pods
from tests.controlplane.kinds.test_elastic_operators import SIZE
from tests.controlplane.kinds.test_leader_worker_sets import groups_of_three
from tests.controlplane.played_agents import PlayedAgents
from tests.controlplane.training_yard import Trail, trail
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

PATIENCE_SECONDS = 120.0
NODES = KwokNodes(6, cpu="2", prefix="siding")
"""Half of them hold a gang, so that each gang is on several nodes."""
ROOM = 12
"""Pods that fit on all of them."""
SETTINGS = {
    "preemption": {"interval_seconds": 0.3, "checkpoint_seconds": 30, "hold_seconds": 60},
    "queue": {"settle_seconds": 0.05},
}
PARAMETERS = [
    pytest.param(case, marks=[] if name == "statefulset" else [pytest.mark.e2e], id=name)
    for name, case in CASES.items()
]
LWS = CASES["leaderworkerset"]
STAY = {
    "several groups": (
        replace(LWS, spec=groups_of_three(2)["spec"], count=2 * LWS.count),
        ParkingReason.SEVERAL_JOBS,
    ),
    "a RayService": (
        Case("RayService.ray.io", ray_service(), (operator_catalog.KUBERAY,), SIZE + 1),
        ParkingReason.OWNER_NOT_SUPPORTED,
    ),
    "a RayJob that keeps its cluster": (
        replace(CASES["rayjob"], spec={**ray_job(), "shutdownAfterJobFinishes": False}),
        ParkingReason.OWNER_NOT_SUPPORTED,
    ),
    "a RayJob whose pods have no name of their own": (
        replace(CASES["rayjob"], spec={**ray_job(), "rayClusterSpec": manifests.ray_cluster()}),
        ParkingReason.NAME_CHANGES,
    ),
}


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    return SETTINGS


@pytest.fixture(params=PARAMETERS)
def case(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[Case]:
    found: Case = request.param
    with operators.running_together(cluster, found.operators):
        yield found


@pytest.fixture(params=STAY.values(), ids=STAY)
def staying(
    request: pytest.FixtureRequest, cluster: Cluster
) -> Iterator[tuple[Case, ParkingReason]]:
    found: tuple[Case, ParkingReason] = request.param
    with operators.running_together(cluster, found[0].operators):
        yield found


@pytest.fixture
def kwok_nodes() -> Sequence[KwokNodes]:
    return (NODES,)


@dataclass(frozen=True)
class Parked:
    """The one job of the test."""

    yard: Yard
    case: Case

    @property
    def path(self) -> str:
        return paths.namespaced(self.case.source.path, self.yard.team, "it")

    async def owner(self) -> Owner:
        return self.read(await self.yard.client.get(self.path))

    def read(self, body: bytes) -> Owner:
        found = self.case.source.decode(body)
        assert isinstance(found, Owner)
        return found

    async def parking(self) -> Parking | None:
        text = (await self.owner()).annotations.get(labels.PARKING)
        return None if text is None else msgspec.json.decode(text, type=Parking)

    async def until_running(self) -> None:
        async def running() -> bool:
            found = [one.phase for one in await pods(self.yard.client, self.yard.team)]
            assert found == ["Running"] * self.case.count, found
            return True

        await eventually(running, PATIENCE_SECONDS, "all its pods run")

    async def nodes(self) -> Counter[str | None]:
        return Counter(one.node_name for one in await pods(self.yard.client, self.yard.team))

    async def asks(self, command: str) -> None:
        where = ["-n", self.yard.team, "--kubeconfig", str(self.yard.cluster.kubeconfig)]
        assert await asyncio.to_thread(main, [command, "it", *where]) == 0

    async def reached(self, phase: str) -> Parking:
        async def check() -> Parking:
            found = await self.parking()
            assert found is not None
            assert found.phase.value == phase, found
            return found

        return await eventually(check, PATIENCE_SECONDS, phase)

    async def stays_as(self, why: str, about: str = "") -> None:
        """Wait for the Event that says why it stays; it runs as before."""

        async def refused() -> bool:
            found = await self.yard.events("ParkingRefused", about)
            assert any(why in json.dumps(one) for one in found), found
            return True

        await eventually(refused, PATIENCE_SECONDS)
        await self.until_running()

    async def deleted(self) -> None:
        """Delete it, and wait until nothing of it is left."""
        await self.yard.client.delete(self.path, propagation="Background")
        await eventually(
            lambda: manifests.forgotten(self.yard), PATIENCE_SECONDS, "nothing is left of it"
        )


async def test_a_job_of_any_kind_is_parked_after_its_checkpoint_and_comes_back_whole(
    case: Case, yard: Yard, agents: PlayedAgents
) -> None:
    await case.submit(yard)
    it = Parked(yard, case)
    await it.until_running()
    await it.asks("park")
    parked = await it.reached("Parked")
    assert (await it.owner()).paused
    assert await pods(yard.client, yard.team) == ()
    assert parked.asked
    assert parked.step is not None
    assert parked.step <= agents.saved[DIRECTORY]
    assert parked.size == case.count
    await it.asks("resume")
    resumed = await it.reached("Resumed")
    assert resumed.why == ""
    await it.until_running()
    assert all(one.resumed_step is not None for one in agents.trainers.values())
    await it.deleted()
    await eventually(lambda: manifests.idle(yard, NODES.names()), PATIENCE_SECONDS, "all is free")


async def test_a_gang_of_any_kind_moves_over_several_nodes_to_places_that_are_kept_for_it(
    case: Case, yard: Yard, agents: PlayedAgents
) -> None:
    targets = NODES.names()[NODES.count // 2 :]
    await yard.cordon(targets)
    await case.submit(yard)
    it = Parked(yard, case)
    await it.until_running()
    before = await it.nodes()
    assert len(before) > 1
    await yard.cordon(targets, cordoned=False)
    other = await yard.namespace("rival")
    collection = paths.namespaced(case.source.path, yard.team)
    async with trail(yard.client, collection) as seen:
        await it.asks("move")
        await eventually(lambda: versions(seen), PATIENCE_SECONDS, "it is asked for a checkpoint")
        await yard.submit(job("rival", ROOM - case.count), to=other)
        resumed = await it.reached("Resumed")
        await it.until_running()
        await yard.until_bound(f"{other}/rival")
        written = versions(seen)
    phases = [phase for phase, _ in itertools.groupby(one.phase.value for one, _ in written)]
    assert phases == ["Asked", "Suspending", "Resuming", "Resumed"]
    assert all(it.read(body).paused for one, body in written if one.phase is Phase.SUSPENDING)
    assert (resumed.cause, resumed.why) == (Cause.MOVE, "")
    after = await it.nodes()
    assert places(written[0][0]) == after
    assert not after.keys() & before.keys()
    assert resumed.step == agents.saved[DIRECTORY]

    def train_on() -> bool:
        begun = [one.resumed_step for one in agents.trainers.values()]
        return begun == [resumed.step] * case.count

    await eventually(train_on, PATIENCE_SECONDS, "all begin at its step")
    assert agents.most[DIRECTORY] == case.count
    await it.deleted()


@pytest.mark.e2e
async def test_a_job_that_cannot_be_suspended_as_a_whole_stays_and_an_event_says_why(
    staying: tuple[Case, ParkingReason], yard: Yard, agents: PlayedAgents
) -> None:
    case, why = staying
    await case.submit(yard)
    it = Parked(yard, case)
    await it.until_running()
    await eventually(lambda: len(agents.trainers) == case.count, PATIENCE_SECONDS)
    await it.asks("move")
    await it.stays_as(why.text)
    assert await it.parking() is None
    await it.deleted()


async def test_a_set_that_would_delete_its_volumes_stays_and_an_event_says_why(
    yard: Yard, agents: PlayedAgents
) -> None:
    made = opted_in(stateful_set("it", 2))
    made["spec"]["persistentVolumeClaimRetentionPolicy"] = {"whenScaled": "Delete"}
    await yard.submit(made)
    it = Parked(yard, Case("StatefulSet", made["spec"], count=2))
    await it.until_running()
    await eventually(lambda: len(agents.trainers) == 2, PATIENCE_SECONDS)
    await it.asks("park")
    await it.stays_as("whenScaled: Delete", "StatefulSet")


def versions(seen: Trail) -> list[tuple[Parking, bytes]]:
    """Return each version of the owner that has a record, with the record before it."""
    found = []
    for _, body in seen.seen:
        if text := (body["metadata"].get("annotations") or {}).get(labels.PARKING):
            record = msgspec.json.decode(text, type=Parking)
            found.append((record, json.dumps(body).encode()))
    return found


def places(parking: Parking) -> Counter[str | None]:
    """Return how many places each node keeps for the job."""
    kept: Counter[str | None] = Counter()
    for alike in parking.pods:
        kept.update(dict(alike.places))
    return kept
