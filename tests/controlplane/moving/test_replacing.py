"""Bare pods are replaced on a real control plane: never two of one, none that a user deleted."""

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from devcluster.options import KwokNodes
from devcluster.shuntyard import extender_process
from extender.writers.leader_writer import LeaderWriter
from extender.writers.replacing import Ending, Replacement
from shared import labels
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from shared.kube.errors import NotFoundError
from shared.model import PodKey
from tests.controlplane.faults import sending
from tests.controlplane.jobs import PREFERENCE, Manifest, Pods, job, pod
from tests.controlplane.moving.copies import doubled, member
from tests.controlplane.watching import annotation, is_gated
from tests.controlplane.yard import PATIENCE_SECONDS, Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

SIZE = 3
HOLD = "test.shuntyard.io/hold"
"""A finalizer: the object of a deleted pod stays until the test lets it go."""


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    return {"gang": {"pin_lost_seconds": 1.0, "backoff_seconds": 0.1, "most_backoff_seconds": 0.5}}


def bare_gang() -> list[Manifest]:
    pods = Pods(spec={"affinity": PREFERENCE}).labelled(job="it")
    pods = pods.annotated({labels.MIN_AVAILABLE: str(SIZE)})
    made = [pod(f"it-{i}", pods) for i in range(SIZE)]
    for one in made:
        one["metadata"]["finalizers"] = [HOLD]
    return made


@asynccontextmanager
async def without_scheduler(yard: Yard) -> AsyncIterator[None]:
    """Freeze kube-scheduler; its Lease lasts 15 s longer."""
    sending(yard.cluster, "kube-scheduler", signal.SIGSTOP)()
    try:
        yield
    finally:
        sending(yard.cluster, "kube-scheduler", signal.SIGCONT)()


async def let_go(yard: Yard) -> None:
    """Take the finalizer from every pod that is being deleted."""
    for found in yard.of("it"):
        if found["metadata"].get("finalizers") and "deletionTimestamp" in found["metadata"]:
            body = {"metadata": {"finalizers": None}}
            await yard.client.patch(paths.pod(yard.team, found["metadata"]["name"]), body)


async def test_a_copy_waits_for_its_pod_and_a_pod_deleted_by_its_user_gets_none(
    yard: Yard,
) -> None:
    """(defects E1, E2)."""
    (first,) = await yard.nodes(KwokNodes(1, cpu="4"))
    await yard.submit(pod("before"))
    await yard.until_bound("before")  # the extender leads: it has seen the Lease renewed
    async with without_scheduler(yard):
        await yard.submit(*bare_gang())
        await eventually(lambda: _reserved(yard) == SIZE, PATIENCE_SECONDS)
        await yard.client.delete(paths.pod(yard.team, "it-0"))
        await yard.client.delete(paths.node(first))
        await eventually(lambda: _copies(yard) == {"it-1", "it-2"}, PATIENCE_SECONDS)
    await yard.until_waiting("it", "Replacing")
    assert doubled(yard.history) == ()
    await let_go(yard)
    await eventually(lambda: len(yard.of("it")) == SIZE - 1, PATIENCE_SECONDS)
    assert _copies(yard) == {"it-1", "it-2"}
    await yard.nodes(KwokNodes(2, cpu="4"))
    await yard.submit(bare_gang()[0])
    await yard.until_bound("it")
    assert doubled(yard.history) == ()
    assert {member(p) for p in yard.of("it")} == {f"it-{i}" for i in range(SIZE)}
    for found in yard.of("it"):
        await yard.client.delete(paths.pod(yard.team, found["metadata"]["name"]))
    await eventually(lambda: _all_leave(yard), PATIENCE_SECONDS)
    await let_go(yard)


async def test_a_pod_that_changed_is_not_deleted_by_its_old_version(yard: Yard) -> None:
    """A deletion names the version that it read: the fake server has the same rule."""
    await yard.submit(pod("alone"))
    (made,) = await eventually(lambda: yard.of("alone"), PATIENCE_SECONDS)
    key, uid = PodKey(f"{yard.team}/alone"), made["metadata"]["uid"]
    cluster = yard.cluster
    write = extender_process.write_kubeconfig
    ours = await asyncio.to_thread(write, cluster.layout, cluster.server)
    credentials = await asyncio.to_thread(auth.load, ours)  # others may not write our keys
    sending(cluster, "extender", signal.SIGSTOP)()  # it would replace the marked pod too
    try:
        async with KubeClient.connect(credentials) as client:
            attempt = Replacement(LeaderWriter(client, lambda: True), key, uid)
            assert await attempt.carry_out() is Ending.DELETED
            (copy,) = await yard.items(paths.namespaced(paths.PODS, yard.team))
            assert annotation(copy, labels.REPLACES) == f"{uid}/alone"
            assert is_gated(copy)
            with pytest.raises(NotFoundError):
                await Replacement(LeaderWriter(client, lambda: True), key, uid).carry_out()
    finally:
        sending(cluster, "extender", signal.SIGCONT)()
    assert len(await yard.items(paths.namespaced(paths.PODS, yard.team))) == 1


async def test_a_gang_continues_when_it_loses_a_member_as_soon_as_it_is_bound(yard: Yard) -> None:
    """(defect E3)."""
    await yard.nodes(KwokNodes(2, cpu="4"))
    await yard.submit(job("it", SIZE))
    await yard.until_bound("it")
    before = {p["metadata"]["uid"] for p in yard.of("it")}
    lost = yard.of("it")[-1]["metadata"]
    await yard.client.delete(paths.pod(yard.team, lost["name"]), grace_seconds=0)
    survivors = before - {lost["uid"]}

    def replaced() -> bool:
        now = {p["metadata"]["uid"] for p in yard.of("it") if p["spec"].get("nodeName")}
        assert survivors <= now
        return len(now) == SIZE

    await eventually(replaced, PATIENCE_SECONDS)


def _reserved(yard: Yard) -> int:
    return sum(bool(annotation(p, labels.NODE)) for p in yard.of("it"))


def _copies(yard: Yard) -> set[str]:
    return {member(p) for p in yard.of("it") if annotation(p, labels.REPLACES)}


def _all_leave(yard: Yard) -> bool:
    return all("deletionTimestamp" in p["metadata"] for p in yard.of("it"))
