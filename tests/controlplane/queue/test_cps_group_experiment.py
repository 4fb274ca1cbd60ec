"""The group-scheduling experiment of CPS on a real control plane: the job that is left out.

Jobs 1-4 have 2 ps and 4 workers, job 5 has 2 ps and 6 workers, every pod asks for 2 CPUs and 2 GiB.
Two nodes of 28 CPUs hold 28 pods; all five jobs are 32. First come, first served leaves job 5 out;
CPS takes it first and leaves job 1 out.

Source:
    Du et al., EURASIP JWCN 2023:45, Sect. 4.4: the experiment and both outcomes. From them follows
    52 <= C < 64 for the CPUs of the cluster; user priorities and waits are ours and give 5, 4, 3,
    2, 1.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from shared import labels
from tests.controlplane import yard as yards
from tests.controlplane.jobs import Pods, ps_job, resource_quota
from tests.controlplane.watching import bind_roles, is_gated, release_order
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

USER_PRIORITY = {1: 2, 2: 4, 3: 5, 4: 6, 5: 10}
WORKERS = {1: 4, 2: 4, 3: 4, 4: 4, 5: 6}
MAX_WAIT = {1: "30m", 2: "30m", 3: "30m", 4: "30m", 5: "5m"}
BY_QUOTA = {2, 5}
"""Users whose priority stands on their ResourceQuota; that of the others on the Namespace."""


@dataclass(frozen=True)
class Outcome:
    released: tuple[int, ...]
    left_out: int


OUTCOMES: dict[str, Outcome] = {
    "creation": Outcome((1, 2, 3, 4), left_out=5),
    "cps": Outcome((5, 4, 3, 2), left_out=1),
}


@pytest.fixture(params=OUTCOMES)
def order(request: pytest.FixtureRequest, clean_cluster: Cluster) -> str:
    yards.start(clean_cluster, {"queue": {"order": request.param}})
    return str(request.param)


@pytest.fixture
async def yard(order: str, clean_cluster: Cluster) -> AsyncIterator[Yard]:
    async with yards.opened(clean_cluster) as yard:
        yield yard


async def test_the_order_decides_which_job_is_left_out(yard: Yard, order: str) -> None:
    nodes = await yard.nodes(KwokNodes(2, cpu="28", memory="64Gi"))
    await yard.cordon(nodes)
    keys = {number: await submit(yard, number) for number in USER_PRIORITY}
    await yard.until_there(*keys.values())
    expected = OUTCOMES[order]

    await yard.cordon(nodes, cordoned=False)
    await yard.until_bound(*(keys[number] for number in expected.released))
    left_out = f"job-{expected.left_out}"
    await eventually(lambda: waits_alone(yard, left_out), yards.PATIENCE_SECONDS)

    assert release_order(yard.history) == tuple(keys[number] for number in expected.released)
    assert all(is_gated(pod) for pod in yard.of(keys[expected.left_out]))
    for number in expected.released:
        assert bind_roles(yard.history, keys[number])[:2] == ("ps", "ps")


async def waits_alone(yard: Yard, job: str) -> bool:
    """Return True if a later cycle than the one that released the others has refused it."""
    found = [(entry.job, entry.reason) for entry in await yard.entries()]
    assert found == [(job, "GangDoesNotFit")]
    return True


async def submit(yard: Yard, number: int) -> str:
    """Submit a job in a later second than the one before, and return its key."""
    quota = number in BY_QUOTA
    priority = USER_PRIORITY[number]
    namespace = await yard.namespace(f"user-{number}", None if quota else priority)
    if quota:
        await yard.submit(resource_quota(priority), to=namespace)
    pods = Pods(cpu="2", memory="2Gi", annotations={labels.MAX_WAIT: MAX_WAIT[number]})
    await yard.after_this_second()
    await yard.submit(*ps_job(f"job-{number}", WORKERS[number], pods), to=namespace)
    return f"{namespace}/job-{number}"
