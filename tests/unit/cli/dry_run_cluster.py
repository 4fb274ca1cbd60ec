"""An API server that checks manifests in a dry run, and the extender behind it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from cli import commands
from cli.__main__ import main
from tests.unit.cli.conftest import ApiServer, Canned
from tests.unit.cli.test_by_service import PROXY, status

GPU = "nvidia.com/gpu"
JOBS, PODS = "/apis/batch/v1/namespaces/vision/jobs", "/api/v1/namespaces/vision/pods"
TORCH = "/apis/kubeflow.org/v1/namespaces/vision/pytorchjobs"
SETS = "/apis/apps/v1/namespaces/vision/statefulsets"
KINDS = {
    "/apis/batch/v1": [("jobs", "Job", True)],
    "/apis/apps/v1": [("statefulsets", "StatefulSet", True)],
    "/apis/kubeflow.org/v1": [("pytorchjobs", "PyTorchJob", True)],
    "/api/v1": [
        ("pods", "Pod", True),
        ("pods/log", "Pod", True),
        ("secrets", "Secret", True),
        ("namespaces", "Namespace", False),
    ],
}
LIMITED = {"spec": {"containers": [{"name": "c", "resources": {"limits": {GPU: 1}}}]}}
UNCHECKED = commands.UNCHECKED
CANNOT_CREATE = 'User "bob" cannot create resource "{}" in API group "" in the namespace "vision"'


def job(name: str = "mine", template: Mapping[str, Any] = LIMITED, **spec: Any) -> dict[str, Any]:
    meta = {"name": name}
    spec = {"template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def torch(**roles: Mapping[str, Any]) -> dict[str, Any]:
    specs = {role: {"replicas": 1, "template": template} for role, template in roles.items()}
    meta = {"name": "mine"}
    spec = {"pytorchReplicaSpecs": specs}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": meta, "spec": spec}


def stored(body: bytes) -> Canned:
    """Return an object with the API server's defaults that matter here, and a name."""
    found = json.loads(body)
    meta = found["metadata"]
    meta["name"] = meta.get("name") or f"{meta['generateName']}x7k2p"
    meta |= {"uid": "u-1", "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [{}]}
    if found["kind"] == "Job":
        label = {"batch.kubernetes.io/job-name": meta["name"]}
        template = found["spec"]["template"]
        template["metadata"] = {**(template.get("metadata") or {}), "labels": label}
    if found["kind"] == "Pod":
        for container in found["spec"]["containers"]:
            resources = container.setdefault("resources", {})
            resources["requests"] = {
                "cpu": "100m",  # of a LimitRange
                **resources.get("limits", {}),
                **resources.get("requests", {}),
            }
    return 201, json.dumps({**found, "status": {}}).encode()


def invalid(*causes: tuple[str, str, str]) -> Canned:
    """422, with causes: field, message, reason."""
    code, body = status(422, "Invalid", 'Job.batch "mine" is invalid: many words')
    named = [{"field": field, "message": text, "reason": why} for field, text, why in causes]
    return code, json.dumps({**json.loads(body), "details": {"causes": named}}).encode()


def strict(text: str) -> Canned:
    words = 'Job in version "v1" cannot be handled as a Job: strict decoding error: '
    return status(400, "BadRequest", words + text)


def forbidden(text: str) -> Canned:
    return status(403, "Forbidden", text)


@dataclass
class Cluster:
    """An API server that accepts objects, and the extender behind it."""

    server: ApiServer
    capsys: pytest.CaptureFixture[str]

    def what_if(self, *documents: Any, more: tuple[str, ...] = ()) -> tuple[int, str, str]:
        """Run what-if on a manifest; return exit code, output, and errors."""
        file = self.server.directory / "job.yaml"
        file.write_text(yaml.safe_dump_all(documents))
        code = main(["what-if", "-f", str(file), "-n", "vision", *more])
        printed = self.capsys.readouterr()
        return code, printed.out, printed.err

    @property
    def sent(self) -> Any:
        """The extender's request body; None without a request."""
        paths = [path for path in self.posts if path.startswith(PROXY)]
        return json.loads(self.server.known.bodies[-1]) if paths else None

    @property
    def posts(self) -> list[str]:
        return [path for path in self.server.known.asked if path.split("?")[0] not in KINDS]

    def created(self, path: str) -> list[Any]:
        """The objects that were sent to a path."""
        bodies = zip(self.posts, self.server.known.bodies, strict=True)
        return [json.loads(body) for found, body in bodies if found.startswith(path)]


def accepting(api_server: ApiServer, capsys: pytest.CaptureFixture[str]) -> Cluster:
    """Return a cluster that accepts objects of all these kinds."""
    for path, kinds in KINDS.items():
        listed = [{"name": n, "kind": k, "namespaced": s} for n, k, s in kinds]
        api_server.known.answers[path] = (200, json.dumps({"resources": listed}).encode())
    for path in (JOBS, PODS, TORCH, SETS, "/api/v1/namespaces/vision/secrets"):
        api_server.known.answers[path] = stored
    api_server.known.answers["/api/v1/namespaces"] = stored
    return Cluster(api_server, capsys)
