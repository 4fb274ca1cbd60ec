"""Groups 1-4 of CPS on a real control plane: the order of release, however jobs were submitted.

In creation order the test could not tell CPS from first come, first served, so every group is
submitted in several fixed shuffles. No node takes a pod until all five jobs wait; then there is
enough room for all, and the order in which the API server took the releases is compared.

Source:
    Du et al., EURASIP JWCN 2023:45, Tables 3 and 5, Figs. 7-10: what varies and the orders. The
    values are ours (the printed ones could not be found) and reproduce every stated order.
"""

from dataclasses import dataclass

import pytest

from devcluster.options import KwokNodes
from shared import labels
from tests.controlplane.jobs import Pods, job, priority_class
from tests.controlplane.watching import release_order, releases_are_blocks
from tests.controlplane.yard import Yard

pytestmark = pytest.mark.controlplane

SHUFFLES = ((5, 4, 3, 2, 1), (3, 5, 1, 4, 2), (2, 1, 5, 3, 4))
CLASSES = {100: ("hp", 1000), 1: ("lp", -1)}
"""PriorityClass by the job priority b that it stands for; without one it is 50."""
DEFAULT_JOB_PRIORITY = 50
DEFAULT_USER_PRIORITY = 5


@dataclass(frozen=True)
class Group:
    """Values of jobs 1…5, and the order by V: jobs of one set have the same V."""

    order: tuple[set[int], ...]
    b: tuple[int, ...] = (DEFAULT_JOB_PRIORITY,) * 5
    max_wait_minutes: tuple[int, ...] = (30,) * 5
    m: tuple[int, ...] = (4,) * 5
    u: tuple[int, ...] = (DEFAULT_USER_PRIORITY,) * 5


ONE_TO_FIVE = ({1}, {2}, {3}, {4}, {5})
GROUPS: dict[str, Group] = {
    "s1-job-priority": Group(({3, 4}, {1, 2}, {5}), b=(50, 50, 100, 100, 1)),
    "s2-maximum-wait": Group(ONE_TO_FIVE, max_wait_minutes=(5, 10, 20, 40, 60)),
    "s3-parallelism": Group(ONE_TO_FIVE, m=(6, 5, 4, 3, 2)),
    "s4-user-priority": Group(ONE_TO_FIVE, u=(10, 8, 6, 4, 2)),
}


@pytest.mark.parametrize(
    "submitted",
    [SHUFFLES[0], *(pytest.param(order, marks=pytest.mark.e2e) for order in SHUFFLES[1:])],
    ids=str,
)
@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS.keys())
async def test_jobs_are_released_in_the_order_of_v_whatever_the_order_of_submission(
    yard: Yard, group: Group, submitted: tuple[int, ...]
) -> None:
    nodes = await yard.nodes(KwokNodes(1, cpu="64"))
    await yard.cordon(nodes)
    created = {number: await submit(yard, group, number) for number in submitted}
    await yard.until_there(*yard.sizes)

    await yard.cordon(nodes, cordoned=False)
    await yard.until_bound(*yard.sizes)

    released = [int(key.rpartition("-")[2]) for key in release_order(yard.history)]
    by_v = [sorted(equal, key=lambda n: created[n]) for equal in group.order]
    assert released == [number for equal in by_v for number in equal]
    assert releases_are_blocks(yard.history)


async def submit(yard: Yard, group: Group, number: int) -> tuple[str, str]:
    """Submit one job and return the tie breakers: creation time and uid."""
    at = number - 1
    own = group.u[at] != DEFAULT_USER_PRIORITY
    namespace = await yard.namespace(f"user-{number}", group.u[at]) if own else yard.team
    spec = {}
    if group.b[at] != DEFAULT_JOB_PRIORITY:
        prefix, value = CLASSES[group.b[at]]
        spec["priorityClassName"] = name = f"{prefix}-{number}"
        await yard.submit(priority_class(name, value))
    wait = {labels.MAX_WAIT: f"{group.max_wait_minutes[at]}m"}
    pods = Pods(spec=spec, annotations=wait).labelled(role="worker")
    (made,) = await yard.submit(job(f"job-{number}", group.m[at], pods), to=namespace)
    return made["metadata"]["creationTimestamp"], made["metadata"]["uid"]
