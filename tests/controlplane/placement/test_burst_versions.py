"""Bursts with every version of kube-scheduler that is wired, and with its feature gates changed.

The first run builds each version's programs: minutes for each.
"""

import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from typing import Final

import pytest

from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, KwokNodes, Schedulers
from devcluster.programs.differences import differences
from devcluster.programs.versions import RELEASES
from devcluster.pytest_plugin import terminal
from shared import labels
from shared.kube import paths
from tests.controlplane import watching
from tests.controlplane import yard as yards
from tests.controlplane.faults import until_acting
from tests.controlplane.jobs import Manifest, Pods, job, pod
from tests.controlplane.placement.bursts import bound_in_their_cycle, counted
from tests.controlplane.watching import Object, annotation
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

PATIENCE_SECONDS: Final = 120.0
DIRECT: Final = Pods(gated=False)
GANGS, SIZE, SINGLES = 8, 6, 8
NODES: Final = KwokNodes(8, cpu="8")
"""They have room for all of it and not for ``TOO_LARGE`` pods."""
TOO_LARGE: Final = 70
NOMINATES: Final = "NominatedNodeNameForExpectation"
ASYNC: Final = "SchedulerAsyncAPICalls"


def variants() -> Iterator[tuple[str, str]]:
    """Yield versions, each with its gates as they are and with each group of gates changed."""
    for version in sorted(RELEASES):
        yield from ((version, name) for name in ("as it is", "async", "nominates"))
        if differences(version).gangs is not None:
            yield version, "gangs"


def gates_of(kubernetes: str, variant: str) -> Mapping[str, bool]:
    """Return the gates that differ from the version's defaults."""
    if variant == "async":
        return {ASYNC: True}
    if variant == "nominates":
        return {NOMINATES: kubernetes.startswith("1.34.")}  # it is on from 1.35
    gangs = differences(kubernetes).gangs
    if variant == "gangs" and gangs is not None:
        return dict.fromkeys(gangs.gates, True)
    return {}


@pytest.fixture(scope="module", params=list(variants()), ids=" ".join)
def variant(request: pytest.FixtureRequest) -> tuple[str, str]:
    kubernetes, name = request.param
    return kubernetes, name


@pytest.fixture(scope="module")
def cluster(
    variant: tuple[str, str],
    tmp_path_factory: pytest.TempPathFactory,
    pytestconfig: pytest.Config,
) -> Iterator[Cluster]:
    kubernetes, name = variant
    options = ClusterOptions(
        kubernetes=kubernetes,
        schedulers=Schedulers.SHUNTYARD,
        in_tree_gangs=name == "gangs",
    )
    cluster = Cluster.up(tmp_path_factory.mktemp("version"), options, terminal(pytestconfig))
    try:
        cluster.add_kwok_nodes(KwokNodes(0))
        if gates := gates_of(kubernetes, name):
            listed = ",".join(f"{gate}={str(on).lower()}" for gate, on in gates.items())
            cluster.restart("kube-scheduler", f"--feature-gates={listed}")
        yield cluster
    finally:
        cluster.down()


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[Yard]:
    async with yards.opened(cluster) as yard:
        await yard.nodes(NODES)
        await until_acting(yard)
        yield yard


async def test_gangs_and_single_pods_are_bound_in_bursts(yard: Yard) -> None:
    """Once as they are created, and once after kube-scheduler has refused all of them."""
    jobs = await submit(yard, "new", job("huge", TOO_LARGE, DIRECT))
    await yard.until_bound(*jobs)
    await yard.cordon(NODES.names())
    await delete(yard, jobs)
    jobs = await submit(yard, "old")
    await eventually(lambda: all(map(is_refused, of(yard, jobs))), PATIENCE_SECONDS, "refused")
    before = await counted(yard)
    await yard.cordon(NODES.names(), cordoned=False)
    await yard.until_bound(*jobs)
    after = await counted(yard)
    assert after.pods > before.pods
    assert yard.bound("huge") == 0
    await nothing_waits(yard, jobs)
    assumed = bound_in_their_cycle(yard)
    late = [one for one in of(yard, jobs) if is_refused(one)]
    sys.stdout.write(
        f"{after.pods} pods in {after.held} bursts; {len(assumed)} bound in their cycle, "
        f"{len(late)} with a late PodScheduled=False\n"
    )
    assert assumed <= {watching.name_of(event.pod) for event in watching.bindings(yard.history)}


async def test_a_gang_of_kubernetes_is_left_to_kube_scheduler(
    yard: Yard, variant: tuple[str, str]
) -> None:
    """Ours beside it is bound too, and a gang of Kubernetes that does not fit is not begun."""
    kubernetes, name = variant
    groups = differences(kubernetes).pod_groups if name == "gangs" else None
    if groups is None:
        pytest.skip(f"Kubernetes {kubernetes} {name}: PodGroups are not served")
    sizes = {"own": SIZE, "own-huge": TOO_LARGE}
    for group, size in sizes.items():
        policy = {"gang": {"minCount": size}}
        body = {"metadata": {"name": group}, "spec": {"schedulingPolicy": policy}}
        await yard.client.post(paths.namespaced(groups.path, yard.team), body)
    members = {group: replace(DIRECT, spec=in_group(group)) for group in sizes}
    await yard.submit(*(job(group, size, members[group]) for group, size in sizes.items()))
    await yard.submit(job("ours", SIZE, DIRECT))
    await yard.until_bound("own", "ours")
    await eventually(lambda: all(map(is_refused, yard.of("own-huge"))), PATIENCE_SECONDS, "refused")
    assert yard.bound("own-huge") == 0
    assert {annotation(found, labels.PLAN) for found in yard.of("own")} == {""}


def in_group(name: str) -> Mapping[str, object]:
    """The fields of a pod that is in a gang of Kubernetes."""
    return {"schedulingGroup": {"podGroupName": name}}


async def submit(yard: Yard, prefix: str, *more: Manifest) -> list[str]:
    """Create gangs and single pods; return the names of their jobs when all pods exist."""
    gangs = [job(f"{prefix}-{i}", SIZE, DIRECT) for i in range(GANGS)]
    singles = [pod(f"{prefix}-single-{i}", DIRECT) for i in range(SINGLES)]
    await yard.submit(*more, *gangs, *singles)
    names = [manifest["metadata"]["name"] for manifest in (*gangs, *singles)]
    await yard.until_there(*names)
    return names


async def delete(yard: Yard, jobs: list[str]) -> None:
    """Delete them as their user does, and wait until their pods are gone."""
    for name in jobs:
        kind = paths.PODS if "single" in name else paths.JOBS
        path = f"{paths.namespaced(kind, yard.team)}/{name}"
        await yard.client.delete(path, propagation="Background")
    await eventually(lambda: not of(yard, jobs), PATIENCE_SECONDS, "they are gone")
    for name in jobs:
        yard.sizes.pop(yard.key(name))


async def nothing_waits(yard: Yard, jobs: list[str]) -> None:
    """Wait until the extender's queue has none of these jobs."""

    async def none_is_listed() -> bool:
        found = {f"{entry.namespace}/{entry.job}" for entry in await yard.entries()}
        return found.isdisjoint(map(yard.key, jobs))

    await eventually(none_is_listed, PATIENCE_SECONDS, "none of them waits")


def of(yard: Yard, jobs: list[str]) -> list[Object]:
    """Return the pods of jobs that exist now."""
    return [found for name in jobs for found in yard.of(name)]


def is_refused(found: Object) -> bool:
    conditions = found["status"].get("conditions") or ()
    return any(c["type"] == "PodScheduled" and c["status"] == "False" for c in conditions)
