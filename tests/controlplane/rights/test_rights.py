"""The rights of deploy/base are exactly those that our programs use; agents have none."""

import asyncio
import json
from collections.abc import Iterator
from itertools import groupby

import pytest

from devcluster import api
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions
from devcluster.rights import calls, granted
from devcluster.rights.granted import Right
from shared.kube.client import KubeClient
from tests.controlplane import yard as yards
from tests.controlplane.rights import rights_walk
from tests.controlplane.rights.rights_walk import Step

AGENTS = "system:serviceaccount:shuntyard-agents:"
AGENT = f"{AGENTS}shuntyard-agent"
GROUPS = ["system:authenticated", "system:serviceaccounts", calls.AGENTS]
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp("rights")
    options = ClusterOptions(record_api_calls=True, in_tree_gangs=True, device_taint_rules=True)
    cluster = Cluster.up(directory, options, lambda _: None)
    try:
        cluster.apply_roles()
        api.call(cluster.kubeconfig, rights_walk.define)
        yield cluster
    finally:
        cluster.down()


def test_no_right_is_missing_or_unused(cluster: Cluster) -> None:
    every = rights_walk.steps(cluster.directory / "certificates")
    for settings, steps in groupby(every, key=lambda step: step.settings):
        yards.start(cluster, settings)
        for step in steps:
            asyncio.run(walk(cluster, step))
    recorded = calls.read(cluster.layout.audit)
    found = granted.compare(recorded, granted.shipped())
    assert found.exact, "\n".join(granted.report(found))

    assert not [call for call in recorded if call.user.startswith(AGENTS)]


def test_agents_have_none_of_the_extenders_rights(cluster: Cluster) -> None:
    async def ask(client: KubeClient) -> list[str]:
        rights = sorted(granted.shipped().rights)
        return [right.text() for right in rights if await _allowed(client, right)]

    assert api.call(cluster.kubeconfig, ask) == []


async def _allowed(client: KubeClient, right: Right) -> bool:
    resource, _, subresource = right.resource.partition("/")
    asked = {
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "verb": right.verb,
        "namespace": right.namespace or "default",
        "name": right.name,
    }
    spec = {"user": AGENT, "groups": GROUPS, "resourceAttributes": asked}
    answer = json.loads(await client.post(REVIEWS, {"spec": spec}))
    return bool(answer["status"]["allowed"])


async def walk(cluster: Cluster, step: Step) -> None:
    async with yards.opened(cluster) as yard:
        await step.walk(yard)
