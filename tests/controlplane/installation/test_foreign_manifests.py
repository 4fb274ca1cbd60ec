"""Objects of cert-manager and of the Prometheus operator, checked by those projects' schemas."""

from collections.abc import AsyncIterator

import pytest

from devcluster import operator_catalog, operators
from devcluster.cluster import Cluster
from shared.kube import auth
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError
from tests.controlplane.installation.test_manifests import Server
from tests.deploy.rendering import needs_kubectl
from tests.deploy.test_schemas import FOREIGN, every_object

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e, needs_kubectl]


@pytest.fixture
async def server(cluster: Cluster) -> AsyncIterator[Server]:
    async with KubeClient.connect(auth.load(cluster.kubeconfig)) as client:
        yield Server(client)


@pytest.fixture(scope="module")
def cluster(control_plane: Cluster) -> Cluster:
    for project in (operator_catalog.CERT_MANAGER, operator_catalog.PROMETHEUS_OPERATOR):
        operators.define(control_plane, project)
    return control_plane


async def test_objects_of_other_projects_fit_their_own_schemas(server: Server) -> None:
    ours = [one for one in every_object() if one["kind"] in FOREIGN]
    assert {one["kind"] for one in ours} == FOREIGN.keys()
    for one in ours:
        await server.try_to_apply(one)


async def test_a_field_outside_their_schemas_is_refused(server: Server) -> None:
    ours = {one["kind"]: one for one in every_object() if one["kind"] in FOREIGN}
    for one in ours.values():
        wrong = {**one, "spec": {**one["spec"], "notAField": True}}
        with pytest.raises(ApiError, match="notAField"):
            await server.try_to_apply(wrong)
