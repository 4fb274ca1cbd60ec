"""Real LeaderWorkerSets: each group starts whole or waits; more groups are more jobs."""

from collections.abc import Iterator
from typing import Any

import pytest

from devcluster import operator_catalog, operators
from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from shared import foreign_labels
from shared.kube import paths
from tests.controlplane.jobs import Manifest, Pods
from tests.controlplane.kinds.test_elastic_operators import forgotten, idle, submit
from tests.controlplane.watching import Object, node_of
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

PATIENCE_SECONDS = 60.0
SIZE = 3
SETS = operator_catalog.LEADER_WORKER_SET.collection


@pytest.fixture(scope="module")
def cluster(cluster: Cluster) -> Iterator[Cluster]:
    with operators.running(cluster, operator_catalog.LEADER_WORKER_SET):
        yield cluster


def groups_of_three(count: int, startup: str = "LeaderCreated") -> Manifest:
    """Return a set of so many groups of a leader and two workers, one CPU each."""
    pods = Pods().template()
    del pods["spec"]["restartPolicy"]
    template = {"size": SIZE, "workerTemplate": pods}
    spec = {"replicas": count, "startupPolicy": startup, "leaderWorkerTemplate": template}
    return {"kind": "LeaderWorkerSet", "spec": spec}


def pods_of(yard: Yard) -> dict[str, list[Object]]:
    """The pods of each group, by the group's number."""
    found: dict[str, list[Object]] = {}
    for pod in yard.history.pods.values():
        if group := (pod["metadata"].get("labels") or {}).get(foreign_labels.LWS_GROUP_INDEX):
            found.setdefault(group, []).append(pod)
    return found


def uids(pods: list[Object]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}


async def until_bound(yard: Yard, *groups: int) -> None:
    """Wait until every pod of those groups has a node, and no pod of another group has one."""

    def bound() -> bool:
        found = {group: sum(map(has_node, pods)) for group, pods in pods_of(yard).items()}
        reserved = {group: count for group, count in found.items() if count}
        assert reserved == {str(group): SIZE for group in groups}, found
        return True

    await eventually(bound, PATIENCE_SECONDS, f"groups {groups} run")


def has_node(pod: Object) -> bool:
    return node_of(pod) is not None


async def scale(yard: Yard, count: int) -> None:
    path = paths.namespaced(SETS, yard.team, "it")
    await yard.client.patch(path, {"spec": {"replicas": count}})


async def test_each_group_starts_whole_or_waits_and_a_smaller_set_loses_its_last_groups(
    yard: Yard,
) -> None:
    names = [*await yard.nodes(KwokNodes(1, cpu="3"))]
    await submit(yard, SETS, groups_of_three(1))
    await until_bound(yard, 0)
    await scale(yard, 2)
    entry = await yard.until_waiting("it-1", "GangDoesNotFit")
    assert (entry.members, entry.min_available, entry.kind) == (SIZE, SIZE, "leaderworkerset")
    await until_bound(yard, 0)
    names += await yard.nodes(KwokNodes(1, cpu="6", first=1))
    await until_bound(yard, 0, 1)
    await scale(yard, 3)
    await until_bound(yard, 0, 1, 2)
    first = uids(pods_of(yard)["0"])
    await scale(yard, 1)
    await until_bound(yard, 0)
    assert uids(pods_of(yard)["0"]) == first
    await scale(yard, 0)
    await eventually(lambda: idle(yard, names), PATIENCE_SECONDS, "paused, it holds no room")
    await scale(yard, 2)
    await until_bound(yard, 0, 1)
    await yard.client.delete(paths.namespaced(SETS, yard.team, "it"), propagation="Background")
    await eventually(lambda: forgotten(yard), PATIENCE_SECONDS, "nothing is left of it")
    await eventually(lambda: idle(yard, names), PATIENCE_SECONDS, "and all room is free")


async def test_a_leader_starts_before_its_workers_exist(
    yard: Yard,
) -> None:
    await yard.nodes(KwokNodes(1, cpu="2"))
    await submit(yard, SETS, groups_of_three(1, "LeaderReady"))

    def partly() -> bool:
        found: list[Any] = [has_node(pod) for pod in pods_of(yard).get("0", [])]
        assert sorted(found) == [False, True, True], found
        return True

    await eventually(partly, PATIENCE_SECONDS, "the leader runs, and a worker beside it")
    await yard.nodes(KwokNodes(1, cpu="1", first=1))
    await until_bound(yard, 0)
    await yard.client.delete(paths.namespaced(SETS, yard.team, "it"), propagation="Background")
    await eventually(lambda: forgotten(yard), PATIENCE_SECONDS, "nothing is left of it")
