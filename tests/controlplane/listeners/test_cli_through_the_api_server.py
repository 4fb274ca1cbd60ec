"""`shuntyard` for a user whose only right is that of deploy/base/viewer.yaml."""

import asyncio
import http
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from cli.commands import UNCHECKED
from devcluster.cluster import Cluster
from devcluster.options import KwokNodes
from devcluster.shuntyard import read_api_service
from shared.kube import auth, paths
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, ForbiddenError
from tests.controlplane import yard as yards
from tests.controlplane.jobs import job
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

SYSTEM: Final = read_api_service.NAMESPACE
BINDINGS: Final = paths.namespaced("/apis/rbac.authorization.k8s.io/v1/rolebindings", SYSTEM)
GPU: Final = "nvidia.com/gpu"
PLUGIN: Final = Path(sys.executable).with_name("kubectl-shuntyard")


@pytest.fixture(scope="module")
def cluster(control_plane: Cluster) -> Iterator[Cluster]:
    control_plane.empty()
    if read_api_service.address(control_plane.address) is None:
        pytest.skip("this machine has no address but loopback, where no proxy goes")
    yards.start(control_plane)
    yield control_plane
    control_plane.empty()


@pytest.fixture
async def viewer(yard: Yard) -> AsyncIterator[Path]:
    """The kubeconfig of a user with the role, and no other right."""
    group = "rbac.authorization.k8s.io"
    body = {
        "metadata": {"name": "viewer"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "shuntyard-viewer"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "viewer"}],
    }
    await yard.client.post(BINDINGS, body)
    file = await asyncio.to_thread(yard.cluster.kubeconfig_for, "viewer")
    await eventually(lambda: _may_read(file), 10, "the role counts")
    yield file
    await yard.client.delete(f"{BINDINGS}/viewer")


class Asked(NamedTuple):
    """Output of a what-if: exit code, text, and that as JSON."""

    code: int
    printed: str
    body: Any


async def shuntyard(kubeconfig: Path, *argv: str) -> tuple[int, str]:
    """Run the command as its user does; return exit code and output."""
    return await _run((sys.executable, "-m", "cli", *argv), {"KUBECONFIG": str(kubeconfig)})


async def _run(argv: tuple[str, ...], environ: Mapping[str, str]) -> tuple[int, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SHUNTYARD")}
    process = await asyncio.create_subprocess_exec(
        *argv,
        env=kept | environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, printed.decode()


async def test_the_viewer_role_is_enough_for_every_command(yard: Yard, viewer: Path) -> None:
    await yard.nodes(KwokNodes(1, cpu="4"))
    await yard.submit(job("wide", 6))
    await yard.until_waiting("wide", "GangDoesNotFit")
    pod = yard.of("wide")[0]["metadata"]["name"]
    commands: dict[tuple[str, ...], tuple[str, ...]] = {
        ("queue",): ("wide", yard.team, "CPUs needed"),
        ("nodes",): ("kwok-0000", "Ready"),
        ("jobs", "-n", yard.team): ("wide", "waiting", "CPUs needed"),
        ("explain", f"{yard.team}/{pod}"): (pod, "GangDoesNotFit"),
        ("explain", f"{yard.team}/wide"): ("6 pods at once", "What would make it run"),
        ("migrations",): ("no migrations",),
        ("rescales",): ("no rescales",),
        ("parkings",): ("no parkings",),
        ("prices",): ("kwok-0000", "TIMES-IDLE"),
        ("what-if", "--workers", "3", "--cpu", "1", "-n", yard.team): (
            "Starts:   now",
            "kwok-0000",
        ),
        ("what-if", "--workers", "5", "--cpu", "1"): ("GangDoesNotFit", "What would make"),
    }
    async with asyncio.TaskGroup() as group:
        runs = {argv: group.create_task(shuntyard(viewer, *argv)) for argv in commands}
    for argv, words in commands.items():
        code, printed = runs[argv].result()
        assert code == 0, (argv, printed)
        assert [word for word in words if word not in printed] == [], (argv, printed)


@pytest.mark.skipif(not PLUGIN.exists(), reason="kubectl-shuntyard is not installed here")
async def test_the_plugin_takes_the_flags_that_kubectl_has(yard: Yard, viewer: Path) -> None:
    await yard.submit(job("wide", 6))
    await yard.until_waiting("wide", "NoSuchNode")
    asked = ("queue", "-n", yard.team, "-o", "wide", "--context", "shuntyard")
    code, printed = await _run((str(PLUGIN), *asked), {"KUBECONFIG": str(viewer)})
    assert (code, printed.splitlines()[0]) == (0, "order: cps, jobs: 1")
    nowhere = {"KUBECONFIG": "missing"}
    code, printed = await _run((str(PLUGIN), *asked, "--kubeconfig", str(viewer), "-A"), nowhere)
    assert (code, printed.splitlines()[0]) == (0, "order: cps, jobs: 1")


FORBIDDEN: dict[str, str] = {
    "pods": paths.pods("default"),
    "pods of all namespaces": paths.PODS,
    "nodes": paths.NODES,
    "secrets beside the extender": paths.namespaced("/api/v1/secrets", SYSTEM),
    "the Service itself": paths.namespaced("/api/v1/services", SYSTEM, "shuntyard-extender"),
    "its pod past the Service": paths.pod(SYSTEM, "shuntyard-extender-0:10262", "proxy"),
    "its port by number": paths.namespaced(
        "/api/v1/services", SYSTEM, "shuntyard-extender:10262", "proxy/v1/queue"
    ),
    "the same name elsewhere": paths.namespaced(
        "/api/v1/services", "default", "http:shuntyard-extender:api", "proxy/v1/queue"
    ),
}


async def test_the_viewer_role_allows_nothing_else(viewer: Path) -> None:
    credentials = await asyncio.to_thread(auth.load, viewer)
    async with KubeClient.connect(credentials) as client:
        allowed = [name for name, path in FORBIDDEN.items() if await _is_allowed(client, path)]
        assert allowed == []
        proxied = paths.namespaced(
            "/api/v1/services", SYSTEM, "http:shuntyard-extender:api", "proxy/v1/queue"
        )
        assert b"entries" in await client.get(proxied)
        with pytest.raises(ApiError) as refused:
            await client.post(proxied, {})
        assert (
            refused.value.status == http.HTTPStatus.METHOD_NOT_ALLOWED
        )  # allowed in, not accepted
        with pytest.raises(ForbiddenError):
            await client.delete(proxied)


async def ask(kubeconfig: Path, directory: Path, namespace: str, *manifests: Any) -> Asked:
    """Run what-if for a manifest."""
    file = directory / "job.yaml"
    text = "---\n".join(json.dumps(one) + "\n" for one in manifests)
    await asyncio.to_thread(file.write_text, text)
    argv = ("what-if", "-f", str(file), "-n", namespace, "-o", "json")
    code, printed = await shuntyard(kubeconfig, *argv)
    return Asked(code, printed, json.loads(printed) if printed.startswith("{") else {})


async def test_what_if_leaves_no_trace(yard: Yard, viewer: Path, tmp_path: Path) -> None:
    """A manifest's job is submitted after its what-if: it goes to the nodes of the answer.

    The viewer may not create Jobs: the answer states that the API server has not checked it.
    """
    await yard.nodes(KwokNodes(3, cpu="4"))
    manifest = job("asked", 2)
    asked = await ask(viewer, tmp_path, yard.team, manifest)
    assert asked.code == UNCHECKED, asked.printed
    body = asked.body
    assert body["checked"]["by_api_server"] is False
    assert f"you may not create jobs.batch in the namespace {yard.team}" in asked.printed
    assert body["starts_now"]
    assert (yard.of("asked"), await yard.entries()) == ([], ())
    await yard.submit(manifest)
    await yard.until_bound("asked")
    bound = sorted(pod["spec"]["nodeName"] for pod in yard.of("asked"))
    assert bound == sorted(place["node"] for place in body["places"])


def limited(name: str, gpus: str, **template: Any) -> dict[str, Any]:
    """A Job whose GPUs are under limits alone, as docs/submit.md writes it."""
    manifest = job(name, 1)
    spec = manifest["spec"]["template"]["spec"]
    spec["containers"][0]["resources"] = {"requests": {"cpu": "1"}, "limits": {GPU: gpus}}
    spec.update(template)
    return manifest


async def test_what_if_of_a_gpu_under_limits_alone_equals_its_submission(
    yard: Yard, tmp_path: Path
) -> None:
    """Its what-if once answered that it starts at once (defect B1)."""
    await yard.nodes(KwokNodes(1, extended={GPU: "4"}))
    await yard.submit(limited("full", "4"))
    await yard.until_bound("full")
    manifest = limited("asked", "2")
    asked = await ask(yard.cluster.kubeconfig, tmp_path, yard.team, manifest)
    assert asked.code == 0, asked.printed
    assert asked.body["checked"]["by_api_server"] is True
    assert asked.body["starts_now"] is False
    entry = asked.body["entry"]
    assert "2 GPUs needed" in entry["message"]
    await yard.submit(manifest)
    waiting = await yard.until_waiting("asked", entry["reason"])
    assert waiting.message == entry["message"]


async def test_what_if_names_the_field_that_the_real_api_server_refuses(
    yard: Yard, tmp_path: Path
) -> None:
    admin = yard.cluster.kubeconfig
    misspelt = limited("asked", "1")
    misspelt["metadata"]["nmae"] = "x"
    misspelt["spec"]["template"]["spec"]["containers"][0]["imgae"] = "x"
    asked = await ask(admin, tmp_path, yard.team, misspelt)
    assert asked.code == 1
    assert f"the API server would refuse Job {yard.team}/asked" in asked.printed
    assert "unknown field metadata.nmae" in asked.printed
    assert "unknown field spec.template.spec.containers[0].imgae" in asked.printed
    misspelt = limited("asked", "1")
    misspelt["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpuu": "1"}
    asked = await ask(admin, tmp_path, yard.team, misspelt)
    assert (asked.code, "resources.requests[cpuu]" in asked.printed) == (1, True), asked.printed
    unknown = limited("asked", "1", serviceAccountName="missing")
    asked = await ask(admin, tmp_path, yard.team, unknown)
    assert (asked.code, '"missing" not found' in asked.printed) == (1, True), asked.printed
    asked = await ask(admin, tmp_path, "nosuchns", limited("asked", "1"))
    assert (asked.code, "namespace nosuchns not found" in asked.printed) == (1, True), asked.printed
    assert yard.of("asked") == []


async def test_what_if_names_a_kind_that_the_api_server_does_not_serve(
    yard: Yard, tmp_path: Path
) -> None:
    template = limited("x", "1")["spec"]["template"]
    torch = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "asked"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": template}}},
    }
    asked = await ask(yard.cluster.kubeconfig, tmp_path, yard.team, torch)
    assert asked.code == UNCHECKED, asked.printed
    why = "the API server has no kind PyTorchJob of kubeflow.org/v1"
    assert asked.body["checked"]["reason"] == why
    assert asked.body["checked"]["pods_by_api_server"] is True
    assert asked.body["starts_now"] is False  # there is no GPU


ABSENT: dict[str, tuple[str, ...]] = {
    "queue": ("queue",),
    "namespaces": ("queue", "--by", "namespace"),
    "jobs": ("jobs",),
    "migrations": ("migrations",),
    "rescales": ("rescales",),
    "parkings": ("parkings",),
    "explain": ("explain", "x"),
    "what-if": ("what-if", "--workers", "1", "--cpu", "1"),
}


async def test_every_command_names_a_namespace_that_does_not_exist(
    yard: Yard, viewer: Path
) -> None:
    """None of them answers that no job waits there (defect B6)."""
    async with asyncio.TaskGroup() as group:
        runs = [
            group.create_task(shuntyard(viewer, *argv, "-n", "nosuchns"))
            for argv in ABSENT.values()
        ]
    for run in runs:
        code, printed = run.result()
        assert (code, "namespace nosuchns not found" in printed) == (1, True), printed


async def test_without_the_role_one_sentence_names_the_missing_right(yard: Yard) -> None:
    stranger = await asyncio.to_thread(yard.cluster.kubeconfig_for, "stranger")
    code, printed = await shuntyard(stranger, "queue")
    assert (code, printed.count("\n")) == (1, 1)
    assert "`get` on `services/proxy` named `http:shuntyard-extender:api`" in printed
    assert "shuntyard-viewer" in printed
    assert "stranger" in printed


MISSING = "( not found|, or there is no such Service)"
"""Before 1.37, and since then, when the API server looks at the Service's EndpointSlices only."""
ELSEWHERE: dict[str, str] = {
    f"{SYSTEM}/shuntyard-extender:web": "no extender is ready at port web",
    f"{SYSTEM}/other:api": f"Service other in the namespace {SYSTEM}{MISSING}",
    "nowhere/other:api": f"Service other in the namespace nowhere{MISSING}",
}


async def test_an_error_of_the_real_api_server_becomes_a_sentence(yard: Yard) -> None:
    for service, want in ELSEWHERE.items():
        code, printed = await shuntyard(yard.cluster.kubeconfig, "queue", "--service", service)
        assert (code, printed.count("\n")) == (1, 1), printed
        assert re.search(want, printed)

    await asyncio.to_thread(yard.cluster.stop, "read-api")
    code, printed = await shuntyard(yard.cluster.kubeconfig, "queue")
    await asyncio.to_thread(yard.cluster.start, "read-api")
    assert code == 1
    assert "the API server cannot reach the extender" in printed


async def test_the_service_has_an_endpoint_slice_with_its_pod(yard: Yard) -> None:
    slices = paths.namespaced("/apis/discovery.k8s.io/v1/endpointslices", SYSTEM)
    (found,) = await eventually(lambda: yard.items(slices), 30, "the slice is mirrored")
    (endpoint,) = found["endpoints"]
    assert endpoint["targetRef"]["name"] == "shuntyard-extender-0"
    assert found["ports"][0]["name"] == "api"


async def _is_allowed(client: KubeClient, path: str) -> bool:
    try:
        await client.get(path)
    except ForbiddenError:
        return False
    except ApiError:  # it was let in, and something else went wrong
        pass
    return True


async def _may_read(kubeconfig: Path) -> bool:
    code, _ = await shuntyard(kubeconfig, "queue")
    return code == 0
