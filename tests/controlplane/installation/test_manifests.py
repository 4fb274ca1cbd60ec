"""A real API server accepts all manifests, enforces the namespace's pod level, and gates pods."""

import contextlib
import copy
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from devcluster import api
from devcluster.cluster import Cluster
from devcluster.shuntyard import gate_policy
from shared import labels
from shared.kube import auth, paths
from shared.kube.client import KubeClient, PatchKind
from shared.kube.errors import ApiError, ForbiddenError, NotFoundError
from tests.deploy.rendering import SETUPS, Manifest, Setup, named, needs_kubectl, rendered
from tests.deploy.test_schemas import FOREIGN, FROM_1_36, every_object
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, needs_kubectl]

STRICT = {"fieldManager": "test", "force": "true", "dryRun": "All", "fieldValidation": "Strict"}
UNGATED = "ungated"
"""A namespace in which no pod is to have the gate."""
BASE, GATE = SETUPS["the base alone"], Setup((), ("components/gate",))


@dataclass
class Server:
    """The API server, as an administrator uses it, and the kinds that it was found to serve."""

    client: KubeClient
    kinds: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    async def path_of(self, manifest: Manifest) -> str:
        """Return the object's path, by the server's own list of kinds.

        Raises:
            NotFoundError: It does not serve the kind.
        """
        version, metadata = manifest["apiVersion"], manifest["metadata"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if root not in self.kinds:
            self.kinds[root] = json.loads(await self.client.get(root))["resources"]
        for one in self.kinds[root]:
            if one["kind"] == manifest["kind"] and "/" not in one["name"]:
                collection = f"{root}/{one['name']}"
                if not one["namespaced"]:
                    return f"{collection}/{metadata['name']}"
                return paths.namespaced(collection, metadata["namespace"], metadata["name"])
        raise NotFoundError(404, "NotFound", f"{version} {manifest['kind']} is not served")

    async def try_to_apply(self, manifest: Manifest) -> None:
        """Apply the object in a dry run; an unknown field is refused."""
        path = await self.path_of(manifest)
        await self.client.patch(path, manifest, kind=PatchKind.APPLY, params=STRICT)

    async def gates(self, wanted: Mapping[str, Any]) -> list[str]:
        """Return the gates that a new pod would have."""
        collection = paths.pods(wanted["metadata"]["namespace"])
        made = json.loads(await self.client.post(collection, wanted, {"dryRun": "All"}))
        return [one["name"] for one in made["spec"].get("schedulingGates", [])]


@pytest.fixture
async def server(control_plane: Cluster) -> AsyncIterator[Server]:
    async with KubeClient.connect(auth.load(control_plane.kubeconfig)) as client:
        yield Server(client)


async def test_the_api_server_accepts_every_object_of_every_setup(server: Server) -> None:
    taken, unserved = set(), set()
    for one in every_object():
        try:
            await server.try_to_apply(one)
        except NotFoundError:
            unserved.add(one["kind"])
        else:
            taken.add(one["kind"])
    assert unserved - FOREIGN.keys() - FROM_1_36 == set()
    assert {one["kind"] for one in rendered(BASE)} <= taken


async def test_objects_of_other_projects_are_accepted_where_those_are_installed(
    server: Server,
) -> None:
    missing = set()
    for one in every_object():
        if one["kind"] in FOREIGN:
            try:
                await server.try_to_apply(one)
            except NotFoundError:
                missing.add(f"{one['kind']} ({one['apiVersion']})")
    if missing:
        pytest.skip(f"not tried, their projects are not installed here: {sorted(missing)}")


async def test_a_field_that_does_not_exist_is_refused(server: Server) -> None:
    broken = copy.deepcopy(dict(named(BASE, "Deployment", "shuntyard-extender")))
    broken["spec"]["template"]["spec"]["hostnetwork"] = True
    with pytest.raises(ApiError, match="hostnetwork: field not declared"):
        await server.try_to_apply(broken)


def pod_from(workload: Manifest, namespace: str) -> dict[str, Any]:
    template = copy.deepcopy(workload["spec"]["template"])
    template["spec"]["serviceAccountName"] = "shuntyard-extender"
    metadata = {**template["metadata"], "name": "one", "namespace": namespace}
    return {**template, "apiVersion": "v1", "kind": "Pod", "metadata": metadata}


async def test_the_namespace_accepts_the_extenders_pod_and_refuses_the_agents(
    server: Server,
) -> None:
    system = "shuntyard-system"
    await server.try_to_apply(pod_from(named(BASE, "Deployment", "shuntyard-extender"), system))
    with pytest.raises(ForbiddenError, match="violates PodSecurity"):
        await server.try_to_apply(pod_from(named(BASE, "DaemonSet", "shuntyard-agent"), system))


# ---- the policy that gates pods


def pod(**changes: Any) -> dict[str, Any]:
    """Return a pod of our scheduler; all but ``labels`` and ``namespace`` goes to its spec."""
    spec = {
        "schedulerName": labels.SCHEDULER_NAME,
        "containers": [{"name": "main", "image": "example.org/none:1"}],
        "serviceAccountName": "default",
        "automountServiceAccountToken": False,
    }
    metadata = {
        "name": "train-0",
        "namespace": changes.pop("namespace", "default"),
        "labels": changes.pop("labels", {}),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, **changes}}


@pytest.fixture
async def gated(server: Server) -> AsyncIterator[Server]:
    """The API server with the policy in force, and without it afterwards."""
    try:
        places = {one["kind"]: await server.path_of(one) for one in rendered(GATE)}
    except NotFoundError as error:
        pytest.skip(f"this version has no such policies: {error}")
    client = server.client
    account = paths.namespaced("/api/v1/serviceaccounts", UNGATED, "default")
    marks = {"shuntyard.io/queue": "direct"}
    await client.post(paths.NAMESPACES, {"metadata": {"name": UNGATED, "labels": marks}})
    try:
        await api.wait_for(client, account, 30)
        await gate_policy.install(client)
        for one in rendered(GATE):
            await client.patch(
                places[one["kind"]],
                one,
                kind=PatchKind.APPLY,
                params={"fieldManager": "test", "force": "true"},
            )
        await eventually(lambda: server.gates(pod()), 30, "the policy is in force")
        yield server
    finally:
        await gate_policy.switch_off(client)
        with contextlib.suppress(NotFoundError):
            await client.delete(paths.namespace(UNGATED))


LEFT_ALONE: dict[str, tuple[dict[str, Any], list[str]]] = {
    "another scheduler's": (pod(schedulerName="default-scheduler"), []),
    "no scheduler's": (pod(schedulerName=""), []),
    "its label says direct": (pod(labels={"shuntyard.io/queue": "direct"}), []),
    "its namespace says so": (pod(namespace=UNGATED), []),
    "it has a node": (pod(nodeName="node-a"), []),
    "it is in a group of Kubernetes": (pod(schedulingGroup={"podGroupName": "train"}), []),
    "it has the gate": (pod(schedulingGates=[{"name": labels.GATE}]), [labels.GATE]),
}


async def test_the_policy_gates_our_pods_and_leaves_all_others_alone(gated: Server) -> None:
    assert await gated.gates(pod()) == [labels.GATE]
    assert await gated.gates(pod(labels={"shuntyard.io/queue": "yes"})) == [labels.GATE]
    both = await gated.gates(pod(schedulingGates=[{"name": "example.org/quota"}]))
    assert sorted(both) == ["example.org/quota", labels.GATE]
    found = {why: await gated.gates(one) for why, (one, _) in LEFT_ALONE.items()}
    assert found == {why: wanted for why, (_, wanted) in LEFT_ALONE.items()}
