"""Our keys are reserved on a real API server: by the policy, and by signatures without it.

Defects A5 and E4.
"""

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import pytest

from cli.__main__ import main
from devcluster.credentials import bootstrap
from devcluster.options import KwokNodes
from shared import labels
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import AlreadyExistsError, ApiError, ForbiddenError, NotFoundError
from tests.controlplane import jobs
from tests.controlplane.rights import our_keys_policy
from tests.controlplane.watching import Object, annotation
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually
from tests.fakes.kube_definitions import DEFINITIONS, definition

pytestmark = pytest.mark.controlplane

POLICY: Final = f"{our_keys_policy.ADMISSION}/validatingadmissionpolicies/shuntyard-our-keys"
PATIENCE_SECONDS: Final = 60.0
NODE: Final = {labels.NODE: "n"}


@pytest.fixture(scope="module")
def extender_settings() -> Mapping[str, Any]:
    """A lost pin is given up soon, and a gang with lost pins is tried again soon."""
    return {"gang": {"pin_lost_seconds": 2.0, "bind_burst_seconds": 2.0, "backoff_seconds": 0.1}}


def pod(name: str, notes: Mapping[str, str], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": dict(notes)},
        "spec": {
            "schedulerName": labels.SCHEDULER_NAME,
            "containers": [{"name": "main", "image": "x"}],
            **spec,
        },
    }


def template(notes: Mapping[str, str]) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "x"}], "restartPolicy": "Never"}
    return {"metadata": {"annotations": dict(notes), "labels": {"a": "b"}}, "spec": spec}


def in_template(kind: str, notes: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """Return the collection and the manifest of an owner with a pod template."""
    selector, of_pods = {"matchLabels": {"a": "b"}}, template(notes)
    always = {**of_pods, "spec": {**of_pods["spec"], "restartPolicy": "Always"}}
    on_demand = {"selector": selector, "template": always}
    collection, api, spec = {
        "Job": (paths.JOBS, "batch/v1", {"template": of_pods, "suspend": True}),
        "CronJob": (
            "/apis/batch/v1/cronjobs",
            "batch/v1",
            {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": of_pods}}},
        ),
        "Deployment": (paths.DEPLOYMENTS, "apps/v1", {**on_demand, "replicas": 0}),
        "ReplicaSet": ("/apis/apps/v1/replicasets", "apps/v1", {**on_demand, "replicas": 0}),
        "DaemonSet": ("/apis/apps/v1/daemonsets", "apps/v1", on_demand),
        "StatefulSet": (
            paths.STATEFULSETS,
            "apps/v1",
            {**on_demand, "replicas": 0, "serviceName": "s"},
        ),
    }[kind]
    return collection, {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": "forged"},
        "spec": spec,
    }


async def refusal(client: KubeClient, path: str, body: Mapping[str, Any]) -> str:
    """Return the API server's message of refusal; a refusal is expected."""
    with pytest.raises(ApiError) as caught:
        await client.post(path, body)
    assert "shuntyard-our-keys" in caught.value.message
    return caught.value.message


@pytest.fixture
async def ruled(yard: Yard) -> Yard:
    """The yard, once the policy is in force, which takes the API server a moment."""

    async def in_force() -> bool:
        return not await our_keys_policy.is_lifted(yard.client)

    await eventually(in_force, PATIENCE_SECONDS, "the policy is in force")
    return yard


@contextlib.asynccontextmanager
async def unruled(yard: Yard) -> AsyncIterator[None]:
    """Remove the policy's binding, as where an administrator did not install it."""
    await our_keys_policy.lift(yard.client)
    try:
        yield
    finally:
        (binding,) = [
            one
            for one in bootstrap.deploy_manifests("base/our-keys.yaml")
            if one["kind"] == "ValidatingAdmissionPolicyBinding"
        ]
        await yard.client.post(our_keys_policy.BINDING.rpartition("/")[0], binding)


@pytest.mark.parametrize("key", sorted(labels.RESERVED))
async def test_a_pod_with_a_key_of_ours_is_refused(ruled: Yard, key: str) -> None:
    message = await refusal(ruled.client, paths.pods(ruled.team), pod("forged", {key: "n"}))
    assert f"only Shuntyard writes the annotation {key}; leave it out" in message


@pytest.mark.parametrize(
    "kind", ["Job", "CronJob", "Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"]
)
async def test_a_key_of_ours_in_a_pod_template_is_refused_at_the_owner(
    ruled: Yard, kind: str
) -> None:
    collection, manifest = in_template(kind, NODE)
    message = await refusal(ruled.client, paths.namespaced(collection, ruled.team), manifest)
    assert f"the pod template has {labels.NODE}: only Shuntyard writes" in message


NOTED: Final = {"metadata": {"annotations": NODE}}
CUSTOM: Final[Mapping[str, tuple[str, str, dict[str, Any]]]] = {
    "PyTorchJob": (
        "kubeflow.org/v1",
        "pytorchjobs",
        {"pytorchReplicaSpecs": {"Master": {}, "Worker": {"template": NOTED}}},
    ),
    "JobSet": (
        "jobset.x-k8s.io/v1alpha2",
        "jobsets",
        {"replicatedJobs": [{"template": {"spec": {"template": NOTED}}}]},
    ),
    "LeaderWorkerSet": (
        "leaderworkerset.x-k8s.io/v1",
        "leaderworkersets",
        {"leaderWorkerTemplate": {"workerTemplate": NOTED}},
    ),
    "RayJob": (
        "ray.io/v1",
        "rayjobs",
        {"rayClusterSpec": {"workerGroupSpecs": [{}, {"template": NOTED}]}},
    ),
    "Job": ("batch.volcano.sh/v1alpha1", "jobs", {"tasks": [{}, {"template": NOTED}]}),
}


@pytest.mark.parametrize("kind", CUSTOM)
async def test_a_key_of_ours_is_refused_at_owners_of_other_projects(ruled: Yard, kind: str) -> None:
    """The place of the template differs; a manifest without our keys is accepted."""
    version, plural, spec = CUSTOM[kind]
    collection, client = f"/apis/{version}/{plural}", ruled.client
    name = f"{plural}.{version.partition('/')[0]}"
    with contextlib.suppress(AlreadyExistsError):  # an earlier operator has left its own
        await client.post(DEFINITIONS, definition(collection, kind))
    path = paths.namespaced(collection, ruled.team)
    manifest = {"apiVersion": version, "kind": kind, "metadata": {"name": "forged"}}

    async def refused() -> bool:
        """Return False as long as the kind is not served, or the policy does not cover it yet."""
        try:
            await client.post(path, {**manifest, "spec": spec}, {"dryRun": "All"})
        except ForbiddenError as error:
            return f"the pod template has {labels.NODE}" in error.message
        except NotFoundError:
            return False
        return False

    try:
        await eventually(refused, PATIENCE_SECONDS, f"{kind} is refused")
        await client.post(path, {**manifest, "spec": {"a": "b"}}, {"dryRun": "All"})
    finally:
        await client.delete(f"{DEFINITIONS}/{name}")


async def test_a_record_of_ours_on_an_owner_is_refused(ruled: Yard) -> None:
    collection, manifest = in_template("Job", {})
    path = paths.namespaced(collection, ruled.team)
    forged = {**manifest["metadata"], "annotations": {labels.RESCALE: "{}"}}
    await refusal(ruled.client, path, {**manifest, "metadata": forged})
    await ruled.client.post(path, manifest)
    change = {"metadata": {"annotations": {labels.SLOT_PLAN: "{}"}}}
    with pytest.raises(ForbiddenError, match=labels.SLOT_PLAN):
        await ruled.client.patch(f"{path}/forged", change)
    await ruled.client.patch(f"{path}/forged", {"metadata": {"annotations": {"a": "b"}}})


async def test_a_copy_made_by_a_controller_is_accepted(ruled: Yard) -> None:
    """A Deployment's annotations are copied to its ReplicaSets; they have no effect there."""
    collection, manifest = in_template("ReplicaSet", {})
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u"}
    metadata = {
        "name": "copied",
        "annotations": {labels.RESCALE: "{}"},
        "ownerReferences": [{**owner, "controller": True}],
    }
    path = paths.namespaced(collection, ruled.team)
    await ruled.client.post(path, {**manifest, "metadata": metadata}, {"dryRun": "All"})


async def test_a_migration_by_another_user_is_refused(ruled: Yard) -> None:
    member = {"pod": "p", "uid": "u", "source": "a", "target": "b"}
    spec = {"job": "ns/pod/p", "trigger": "converged", "mover": "evict", "members": [member]}
    body = {
        "apiVersion": "shuntyard.io/v1alpha1",
        "kind": "Migration",
        "metadata": {"name": "forged"},
        "spec": spec,
    }
    message = await refusal(ruled.client, paths.migrations(ruled.team), body)
    assert "only Shuntyard writes Migrations" in message


async def test_no_other_user_changes_a_reservation_by_any_path(ruled: Yard) -> None:
    await ruled.nodes(KwokNodes(count=1, prefix="door", cpu="4"))
    await ruled.submit(jobs.job("it", 2))
    await ruled.until_bound("it")
    found = ruled.of("it")[0]
    assert annotation(found, labels.RESERVATION_SIGNATURE)
    path = paths.pod(ruled.team, name_of(found))
    change = {"metadata": {"annotations": {labels.PLAN: None}}}
    for door in (path, f"{path}/status"):
        with pytest.raises(ForbiddenError, match=labels.PLAN):
            await ruled.client.patch(door, change)
    harmless = {"metadata": {"annotations": {"a": "b"}}}
    await ruled.client.patch(path, harmless)
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name_of(found), "annotations": NODE},
        "target": {"kind": "Node", "name": "n"},
    }
    with pytest.raises(ForbiddenError, match=labels.NODE):
        await ruled.client.post(f"{path}/binding", binding)


async def test_without_the_policy_forged_reservations_hold_no_pod_back(ruled: Yard) -> None:
    """Two pods of a forger name the nodes, one with a gate: the victim is bound at once."""
    names = await ruled.nodes(KwokNodes(count=2, prefix="forged", cpu="4"))
    async with unruled(ruled):
        for i, node in enumerate(names):
            notes = {labels.NODE: node, labels.PLAN: "p", labels.PLAN_SIZE: "1"}
            container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "4"}}}
            gates = [{"name": "example.com/mine"}] if i else []
            selector = {} if i else {"example.com/nowhere": "true"}
            forged = pod(
                f"forged-{i}",
                notes,
                containers=[container],
                schedulingGates=gates,
                nodeSelector=selector,
            )
            await ruled.client.post(paths.pods(ruled.team), forged)
        await ruled.submit(jobs.job("victim", 8))
        await ruled.until_bound("victim")


@pytest.mark.parametrize("lost", [False, True], ids=["nodes stay", "nodes are lost"])
async def test_a_gang_of_which_plans_were_removed_is_bound_whole(ruled: Yard, lost: bool) -> None:
    """The annotations change while kube-scheduler is frozen, between release and Binding."""
    cluster = ruled.cluster
    names = await ruled.nodes(KwokNodes(count=3, prefix=f"edited-{lost}".lower(), cpu="4"))
    async with unruled(ruled):
        cluster.kill("kube-scheduler", signal.SIGSTOP)
        try:
            await ruled.submit(jobs.stateful_set("edited", 6))
            await eventually(
                lambda: len(_reserved(ruled, "edited")) == 6, PATIENCE_SECONDS, "all are released"
            )
            for found in ruled.of("edited")[:3]:
                change = {"metadata": {"annotations": {labels.PLAN: None}}}
                await ruled.client.patch(paths.pod(ruled.team, name_of(found)), change)
            if lost:
                await ruled.nodes(KwokNodes(count=3, prefix="others", cpu="4"))
                for name in names:
                    await ruled.client.delete(paths.node(name))
        finally:
            cluster.kill("kube-scheduler", signal.SIGCONT)
        await ruled.until_bound("edited")


async def test_after_two_rotations_jobs_are_bound_as_before(ruled: Yard) -> None:
    await ruled.nodes(KwokNodes(count=2, prefix="rotated", cpu="4"))
    await ruled.submit(jobs.job("before", 2))
    await ruled.until_bound("before")
    kubeconfig = str(ruled.cluster.kubeconfig)
    for _ in range(2):
        assert (
            await asyncio.to_thread(main, ["rotate-signing-key", "--kubeconfig", kubeconfig]) == 0
        )
    await ruled.submit(jobs.job("after", 4))
    await ruled.until_bound("after")


def _reserved(yard: Yard, job: str) -> list[str]:
    return [
        annotation(found, labels.PLAN) for found in yard.of(job) if annotation(found, labels.PLAN)
    ]


async def test_the_api_server_has_no_warning_about_the_policy(ruled: Yard) -> None:
    """The API server has no warning about its expressions, for kinds that it serves."""

    async def judged() -> bool:
        found = json.loads(await ruled.client.get(POLICY))
        return "observedGeneration" in found.get("status", {})

    await eventually(judged, PATIENCE_SECONDS, "the expressions were judged")
    status = json.loads(await ruled.client.get(POLICY))["status"]
    assert not status.get("typeChecking", {}).get("expressionWarnings")


def name_of(found: Object) -> str:
    return str(found["metadata"]["name"])
