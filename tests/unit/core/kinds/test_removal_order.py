"""Which pods leave first when an owner shrinks, by the code of its controller."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.kinds import registry
from shared import foreign_labels, labels
from shared.model import NodeName, OwnerReference, Pod, PodShape, Uid
from tests.unit.core.kinds.kinds import captured

INDEXED = {
    "job": [1, 0],
    "statefulset": [1, 0],
    "pytorchjob": [1, 0],
    "tfjob": [1, 0],
    "mpijob-v1": [1, 0],
    "mpijob-v2beta1": [1, 0],
    "vcjob": [1, 0],
    "trainjob": [1, 0],
}


@pytest.mark.parametrize(("name", "want"), INDEXED.items(), ids=INDEXED)
def test_the_highest_index_goes_first(name: str, want: list[int]) -> None:
    found = captured(name)
    members = {pod.uid: registry.membership(pod, found.above[pod.name]) for pod in found.pods}
    workers = [pod for pod in found.pods if members[pod.uid].role in {"worker", "", "node"}]
    adapter = registry.resizable(workers[0])
    assert adapter is not None
    assert not adapter.any_worker
    assert [members[pod.uid].index for pod in adapter.removal_order(workers)] == want
    assert [members[pod.uid].index for pod in adapter.removal_order(workers[::-1])] == want


@pytest.mark.parametrize("name", ["bare-pod", "leaderworkerset", "replicaset", "unknown-owner"])
def test_the_order_of_other_kinds_is_unknown(name: str) -> None:
    assert registry.resizable(captured(name).pods[0]) is None


def indexed(text: str | None, name: str = "it") -> Pod:
    return pod(
        OwnerReference("batch/v1", "Job", "it", Uid("o")),
        name,
        {} if text is None else {labels.JOB_INDEX_LABEL: text},
    )


def pod(
    controller: OwnerReference,
    name: str,
    pod_labels: dict[str, str],
    annotations: dict[str, str] | None = None,
    *,
    phase: str = "Running",
    node: str | None = "n",
    created_at: float = 0.0,
) -> Pod:
    return Pod(
        namespace="team",
        name=name,
        uid=Uid(name),
        resource_version="1",
        created_at=created_at,
        shape=PodShape(),
        labels=pod_labels,
        annotations=annotations or {},
        controller=controller,
        phase=phase,
        node_name=None if node is None else NodeName(node),
    )


def test_a_worker_whose_index_cannot_be_read_goes_last() -> None:
    pods = [indexed("x", "a"), indexed("0", "b"), indexed(None, "c"), indexed("10", "d")]
    adapter = registry.resizable(pods[0])
    assert adapter is not None
    assert [p.name for p in adapter.removal_order(pods)] == ["d", "b", "a", "c"]


REPLICA_SET = OwnerReference("apps/v1", "ReplicaSet", "web-5d4f", Uid("rs"))
HASH = {labels.POD_TEMPLATE_HASH: "5d4f"}


def replica(
    name: str,
    cost: str | None = None,
    *,
    phase: str = "Running",
    node: str | None = "n",
    created_at: float = 0.0,
) -> Pod:
    notes = {} if cost is None else {labels.POD_DELETION_COST: cost}
    return pod(REPLICA_SET, name, HASH, notes, phase=phase, node=node, created_at=created_at)


def test_of_a_deployment_the_one_without_a_node_then_not_running_then_cheap_then_new() -> None:
    pods = [
        replica("old", "7", created_at=1),
        replica("new", "7", created_at=2),
        replica("cheap", "-5"),
        replica("odd", "none"),
        replica("starting", "100", phase="Pending"),
        replica("waiting", "100", phase="Pending", node=None),
    ]
    adapter = registry.resizable(pods[0])
    assert adapter is not None
    order = [p.name for p in adapter.removal_order(pods)]
    assert order == ["waiting", "starting", "cheap", "odd", "new", "old"]


costs = st.one_of(
    st.none(), st.integers(-(2**31) - 1, 2**31).map(str), st.sampled_from(["", "x", "0"])
)


@given(st.lists(costs, min_size=1, max_size=8), st.data())
def test_nominated_replicas_cost_less_than_all_that_stay(
    given_costs: list[str | None], data: st.DataObject
) -> None:
    pods = [replica(f"p{i}", cost) for i, cost in enumerate(given_costs)]
    adapter = registry.resizable(pods[0])
    nominating = registry.nominating(pods[0])
    assert adapter is not None
    assert nominating is not None
    order = adapter.removal_order(pods)
    going = data.draw(st.integers(0, len(pods)))
    leaving, staying = order[:going], order[going:]
    written = nominating.nominations(leaving, staying)
    assert set(written) <= {p.key for p in leaving}
    after = [
        replica(p.name, written.get(p.key, p.annotations).get(labels.POD_DELETION_COST))
        for p in order
    ]
    left = [effective(p) for p in after[:going]]
    stayed = [effective(p) for p in after[going:]]
    lowest = -(2**31)
    assert not left or not stayed or max(left) < min(stayed) or min(stayed) == lowest
    assert nominating.nominations(after[:going], after[going:]) == {}


def effective(one: Pod) -> int:
    """As Kubernetes reads it: what is no 32-bit number is 0."""
    text = one.annotations.get(labels.POD_DELETION_COST, "0")
    if not text.lstrip("-").isdecimal() or not -(2**31) <= int(text) < 2**31:
        return 0
    return int(text)


def test_the_pods_that_leave_a_ray_cluster_are_named_so_the_newest_may() -> None:
    cluster = OwnerReference("ray.io/v1", "RayCluster", "tune", Uid("c"))
    marks = {foreign_labels.RAY_CLUSTER: "tune", foreign_labels.RAY_NODE_TYPE: "worker"}
    pods = [
        pod(cluster, f"w{i}", marks, created_at=i, node=None if i == 1 else "n") for i in range(4)
    ]
    adapter = registry.resizable(pods[0])
    assert adapter is not None
    assert adapter.any_worker
    assert [p.name for p in adapter.removal_order(pods)] == ["w1", "w3", "w2", "w0"]


def test_a_rolled_out_deployment_keeps_its_job() -> None:
    older = pod(
        OwnerReference("apps/v1", "ReplicaSet", "web-77f", Uid("rs2")),
        "web-77f-x",
        {labels.POD_TEMPLATE_HASH: "77f"},
    )
    keys = {registry.job_key(one) for one in (older, replica("web-5d4f-y"))}
    assert keys == {"team/deployment/web"}


@given(st.lists(st.integers(0, 10**6), unique=True, min_size=2, max_size=9))
def test_a_prefix_of_the_order_of_more_workers_is_what_fewer_lack(indices: list[int]) -> None:
    pods = [indexed(str(i), f"p{i}") for i in indices]
    adapter = registry.resizable(pods[0])
    assert adapter is not None
    order = adapter.removal_order(pods)
    ranks = [int(p.labels[labels.JOB_INDEX_LABEL]) for p in order]
    assert all(a > b for a, b in pairwise(ranks))
    assert adapter.removal_order(order[1:]) == order[1:]
