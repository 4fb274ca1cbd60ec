"""Nodes and pods as kwok simulates them."""

import time

import pytest

from devcluster import api
from devcluster.cluster import Cluster
from devcluster.options import KwokNodes, Taint
from shared.kube import paths
from tests.controlplane.devcluster.devcluster_yard import (
    create,
    eventually,
    exists,
    get,
    items,
    phase,
    pod,
)

pytestmark = [pytest.mark.controlplane, pytest.mark.devcluster]


@pytest.fixture
def kwok_cluster(clean_cluster: Cluster) -> Cluster:
    clean_cluster.add_kwok_nodes(KwokNodes(count=3))
    return clean_cluster


def test_fake_nodes_are_ready_and_have_the_requested_resources(clean_cluster: Cluster) -> None:
    clean_cluster.add_kwok_nodes(
        KwokNodes(
            count=2,
            cpu="4",
            extended={"nvidia.com/gpu": "2"},
            labels={"zone": "a"},
            taints=(Taint("gpu", "yes", "NoSchedule"),),
        )
    )
    clean_cluster.add_kwok_nodes(KwokNodes(count=1, first=2))
    nodes = {node["metadata"]["name"]: node for node in items(clean_cluster, paths.NODES)}
    assert sorted(nodes) == ["kwok-0000", "kwok-0001", "kwok-0002"]
    first = nodes["kwok-0000"]
    assert first["status"]["allocatable"]["nvidia.com/gpu"] == "2"
    assert first["metadata"]["labels"]["zone"] == "a"
    assert [taint["key"] for taint in first["spec"]["taints"]] == ["gpu"]
    assert "taints" not in nodes["kwok-0002"]["spec"]


def test_the_default_scheduler_binds_pods_and_they_run(kwok_cluster: Cluster) -> None:
    kwok_cluster.start_default_scheduler()
    create(kwok_cluster, paths.pods("default"), pod("one"))
    eventually(lambda: phase(kwok_cluster, "one") == "Running")
    assert get(kwok_cluster, paths.pod("default", "one"))["status"]["podIP"].startswith("10.")


def test_a_pod_succeeds_after_its_simulated_duration_and_not_before(kwok_cluster: Cluster) -> None:
    begun = time.monotonic()
    create(kwok_cluster, paths.pods("default"), pod("two", node="kwok-0000", duration="2s"))
    eventually(lambda: phase(kwok_cluster, "two") == "Succeeded")
    assert time.monotonic() - begun >= 2.0
    (container,) = get(kwok_cluster, paths.pod("default", "two"))["status"]["containerStatuses"]
    assert container["state"]["terminated"]["exitCode"] == 0


def test_a_change_of_a_running_pod_does_not_restart_its_duration(kwok_cluster: Cluster) -> None:
    create(kwok_cluster, paths.pods("default"), pod("three", node="kwok-0000", duration="10s"))
    eventually(lambda: phase(kwok_cluster, "three") == "Running")
    changes = 0

    def changed() -> bool:
        nonlocal changes
        changes += 1
        patch = {"metadata": {"annotations": {"change": str(changes)}}}
        path = paths.pod("default", "three")
        api.call(kwok_cluster.kubeconfig, lambda client: client.patch(path, patch))
        return phase(kwok_cluster, "three") == "Succeeded"

    eventually(changed)  # a restart of its time would let it run for ever: it changes each second
    assert changes > 5


def test_a_job_of_pods_without_a_duration_completes(kwok_cluster: Cluster) -> None:
    kwok_cluster.start_default_scheduler()
    template = {"spec": {**pod("any")["spec"], "restartPolicy": "Never"}}
    spec = {"parallelism": 3, "completions": 3, "template": template}
    path = paths.namespaced(paths.JOBS, "default")
    create(kwok_cluster, path, {"metadata": {"name": "job"}, "spec": spec})
    eventually(lambda: get(kwok_cluster, f"{path}/job")["status"].get("succeeded") == 3)


def test_a_deleted_running_pod_uses_its_grace_period_and_a_finished_one_goes_at_once(
    kwok_cluster: Cluster,
) -> None:
    done = pod("done", node="kwok-0001", duration="0s", grace=600)  # longer than it is waited for
    create(kwok_cluster, paths.pods("default"), pod("slow", node="kwok-0000", grace=3))
    create(kwok_cluster, paths.pods("default"), done)
    eventually(lambda: phase(kwok_cluster, "slow") == "Running")
    eventually(lambda: phase(kwok_cluster, "done") == "Succeeded")
    begun = time.monotonic()
    for name in ("slow", "done"):
        path = paths.pod("default", name)
        api.call(kwok_cluster.kubeconfig, lambda client, path=path: client.delete(path))
    eventually(lambda: not exists(kwok_cluster, paths.pod("default", "done")))
    eventually(lambda: not exists(kwok_cluster, paths.pod("default", "slow")))
    # The API's deletion time is in whole seconds: up to one less.
    assert time.monotonic() - begun >= 2.0


def test_kwok_leaves_foreign_nodes_alone(kwok_cluster: Cluster) -> None:
    create(kwok_cluster, paths.NODES, {"metadata": {"name": "foreign"}})
    create(kwok_cluster, paths.pods("default"), pod("theirs", node="foreign"))
    create(kwok_cluster, paths.pods("default"), pod("ours", node="kwok-0000"))
    eventually(lambda: phase(kwok_cluster, "ours") == "Running")
    assert phase(kwok_cluster, "theirs") == "Pending"
    assert not exists(kwok_cluster, paths.lease("kube-node-lease", "foreign"))


@pytest.mark.parametrize("turn", ["first", "second"])
def test_empty_deletes_everything_and_names_can_be_used_again(
    kwok_cluster: Cluster, turn: str
) -> None:
    kwok_cluster.start_default_scheduler()
    create(kwok_cluster, paths.NAMESPACES, {"metadata": {"name": "team"}})
    account = paths.namespaced("/api/v1/serviceaccounts", "team", "default")
    eventually(lambda: exists(kwok_cluster, account))
    template = {"spec": {**pod("any")["spec"], "restartPolicy": "Never"}}
    path = paths.namespaced(paths.JOBS, "team")
    spec = {"parallelism": 5, "completions": 5, "template": template}
    create(kwok_cluster, path, {"metadata": {"name": turn}, "spec": spec})
    eventually(lambda: len(items(kwok_cluster, paths.pods("team"))) == 5)
    kwok_cluster.empty()
    assert items(kwok_cluster, paths.PODS) == []
    assert items(kwok_cluster, paths.NODES) == []
    assert not exists(kwok_cluster, paths.namespace("team"))
    assert not kwok_cluster.runs("kwok")
    assert not kwok_cluster.runs("default-scheduler")
