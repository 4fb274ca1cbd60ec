"""Manifests that were written for Volcano and for coscheduling run with another ``schedulerName``.

The definitions are installed while the extender runs. Beside ``schedulerName`` the pod templates
carry our gate.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
import yaml

from devcluster import api
from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from shared import labels
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import AlreadyExistsError, ApiError
from tests.controlplane.watching import is_gated, node_of
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually
from tests.fakes.kube_definitions import DEFINITIONS, definition

pytestmark = pytest.mark.controlplane

PATIENCE_SECONDS = 60.0
COSCHEDULING = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"
VOLCANO = "/apis/scheduling.volcano.sh/v1beta1/podgroups"
GROUPS = (COSCHEDULING, VOLCANO)
COLLECTIONS = {
    "scheduling.x-k8s.io/v1alpha1 PodGroup": COSCHEDULING,
    "scheduling.volcano.sh/v1beta1 PodGroup": VOLCANO,
    "apps/v1 ReplicaSet": "/apis/apps/v1/replicasets",
    "batch/v1 Job": paths.JOBS,
}

# sigs.k8s.io/scheduler-plugins v0.34.7, pkg/coscheduling/README.md
NGINX = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata:
  name: nginx
spec:
  scheduleTimeoutSeconds: 10
  minMember: 3
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: nginx
  labels:
    app: nginx
spec:
  replicas: 6
  selector:
    matchLabels:
      app: nginx
  template:
    metadata:
      name: nginx
      labels:
        app: nginx
        scheduling.x-k8s.io/pod-group: nginx
    spec:
      containers:
      - name: nginx
        image: nginx
        resources:
          limits:
            cpu: 3000m
            memory: 500Mi
          requests:
            cpu: 3000m
            memory: 500Mi
"""

# a PodGroup of Volcano and a Job whose pods name it by annotation
MNIST = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata:
  name: nginx
spec:
  minMember: 3
  queue: default
---
apiVersion: batch/v1
kind: Job
metadata:
  name: nginx
spec:
  parallelism: 6
  completions: 6
  template:
    metadata:
      annotations:
        scheduling.k8s.io/group-name: nginx
    spec:
      restartPolicy: Never
      containers:
      - name: nginx
        image: nginx
        resources:
          requests:
            cpu: 3000m
            memory: 500Mi
"""
EXAMPLES = {"coscheduling": NGINX, "volcano": MNIST}


@pytest.fixture(scope="module")
def cluster(cluster: Cluster) -> Iterator[Cluster]:
    api.call(cluster.kubeconfig, define)
    yield cluster
    api.call(cluster.kubeconfig, undefine)


async def define(client: KubeClient) -> None:
    for collection in GROUPS:
        with suppress(AlreadyExistsError):  # an operator that ran before has left its own
            await client.post(DEFINITIONS, definition(collection, "PodGroup"))
        await eventually(partial(served, client, collection), PATIENCE_SECONDS, collection)


async def served(client: KubeClient, collection: str) -> bool:
    with suppress(ApiError):
        return bool(await client.get(collection))
    return False


async def undefine(client: KubeClient) -> None:
    for collection in GROUPS:
        group = paths.group_version(collection).partition("/")[0]
        await client.delete(f"{DEFINITIONS}/podgroups.{group}")


async def apply(yard: Yard, example: str, replicas: int) -> None:
    """Create the objects of an example, with our scheduler and gate and so many pods."""
    for manifest in yaml.safe_load_all(example):
        if manifest["kind"] != "PodGroup":
            spec = manifest["spec"]
            counts = {key: replicas for key in spec if key in {"replicas", "parallelism"}}
            spec.update(counts)
            spec["template"]["spec"].update(ours())
        kind = f"{manifest['apiVersion']} {manifest['kind']}"
        await yard.client.post(paths.namespaced(COLLECTIONS[kind], yard.team), manifest)


def ours() -> Mapping[str, Any]:
    gates = [{"name": labels.GATE}]
    return {"schedulerName": labels.SCHEDULER_NAME, "schedulingGates": gates}


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
async def test_a_group_of_three_starts_whole_where_there_is_room_for_three(
    yard: Yard, example: str
) -> None:
    await yard.nodes(KwokNodes(1, cpu="10"))
    await apply(yard, example, replicas=6)
    await eventually(lambda: yard.bound("nginx") == 3, PATIENCE_SECONDS)
    await eventually(lambda: len(yard.of("nginx")) == 6, PATIENCE_SECONDS)  # made a few at a time
    waiting = [pod for pod in yard.of("nginx") if node_of(pod) is None]
    assert [is_gated(pod) for pod in waiting] == [True] * 3
    reservations = [pod for pod in yard.of("nginx") if node_of(pod) is not None]
    assert len({pod["metadata"]["annotations"][labels.PLAN] for pod in reservations}) == 1


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
async def test_two_of_a_group_of_three_wait_for_the_third(yard: Yard, example: str) -> None:
    await yard.nodes(KwokNodes(1, cpu="10"))
    await apply(yard, example, replicas=2)
    await eventually(partial(_waits_with, yard, 2), PATIENCE_SECONDS)
    assert yard.bound("nginx") == 0


async def _waits_with(yard: Yard, members: int) -> bool:
    entry = await yard.until_waiting("nginx", "GangIncomplete")
    return entry.members == members
