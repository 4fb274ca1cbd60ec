"""`shuntyard what-if -f`: the API server checks the manifest first, the extender answers then.

Defect B1: its defaults, such as requests that follow limits, were missing.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli import commands
from cli.__main__ import main
from cli.dry_run import checking
from tests.unit.cli.conftest import NOT_SERVED, ApiServer, Canned
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


@pytest.fixture
def cluster(api_server: ApiServer, capsys: pytest.CaptureFixture[str]) -> Cluster:
    for path, kinds in KINDS.items():
        listed = [{"name": n, "kind": k, "namespaced": s} for n, k, s in kinds]
        api_server.known.answers[path] = (200, json.dumps({"resources": listed}).encode())
    for path in (JOBS, PODS, TORCH, SETS, "/api/v1/namespaces/vision/secrets"):
        api_server.known.answers[path] = stored
    api_server.known.answers["/api/v1/namespaces"] = stored
    return Cluster(api_server, capsys)


def resources(template: Mapping[str, Any]) -> Any:
    return template["spec"]["containers"][0]["resources"]


def test_the_extender_gets_the_defaults_of_the_api_server(cluster: Cluster) -> None:
    code, out, _ = cluster.what_if(job())
    assert code == 0
    assert "Checked:  by the API server, in a dry run" in out
    assert resources(cluster.sent["spec"]["template"])["requests"] == {"cpu": "100m", GPU: 1}
    assert cluster.sent["metadata"] == {"name": "mine"}
    assert "status" not in cluster.sent


def test_nothing_is_stored_and_unknown_fields_are_strict(cluster: Cluster) -> None:
    cluster.what_if(job())
    of_job, of_pod, *_ = cluster.posts  # a token and the question follow
    query = "?dryRun=All&fieldValidation=Strict&fieldManager=shuntyard-what-if"
    assert (of_job, of_pod) == (f"{JOBS}{query}", f"{PODS}{query}")


def test_each_different_template_of_an_operators_job_is_checked_once(cluster: Cluster) -> None:
    more = {"spec": {"containers": [{"name": "other"}]}, "metadata": {"labels": {"a": "b"}}}
    code, _, _ = cluster.what_if(torch(Master=LIMITED, Worker=LIMITED, Other=more))
    assert code == 0
    roles = cluster.sent["spec"]["pytorchReplicaSpecs"]
    asked = [resources(roles[role]["template"])["requests"] for role in ("Master", "Worker")]
    assert asked == [{"cpu": "100m", GPU: 1}] * 2
    first, second = cluster.created(PODS)
    assert (first["metadata"]["generateName"], "labels" in first["metadata"]) == ("mine-", False)
    assert second["metadata"]["labels"] == {"a": "b"}
    assert roles["Other"]["template"]["metadata"]["labels"] == {"a": "b"}


def test_volumes_that_a_stateful_set_adds_are_in_the_check_only(cluster: Cluster) -> None:
    mounted = {"spec": {"containers": [{"name": "c", "volumeMounts": [{"name": "data"}]}]}}
    claims = [{"metadata": {"name": "data"}, "spec": {}}]
    spec = {"template": mounted, "volumeClaimTemplates": claims}
    meta = {"name": "mine"}
    body = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec}
    assert cluster.what_if(body)[0] == 0
    (pod,) = cluster.created(PODS)
    assert [one["name"] for one in pod["spec"]["volumes"]] == ["data"]
    assert cluster.sent["spec"]["template"]["spec"]["volumes"] == []


REFUSED: dict[str, tuple[str, Canned, tuple[str, ...]]] = {
    "an unknown field": (
        JOBS,
        strict('unknown field "metadata.nmae"'),
        (
            "the API server would refuse Job vision/mine: unknown field metadata.nmae; ",
            "`kubectl explain job.metadata` lists the fields",
        ),
    ),
    "two unknown fields": (
        JOBS,
        strict('unknown field "spec.a", unknown field "spec.template.spec.containers[0].imgae"'),
        ("refuse Job vision/mine:\n", "\n  unknown field spec.template.spec.containers[0].imgae\n"),
    ),
    "a bad value": (
        JOBS,
        invalid(
            ("spec.template.spec.containers[0].resources.requests[cpuu]", "Invalid value", "x"),
            ("spec.template.spec.restartPolicy", "Required value", "FieldValueRequired"),
        ),
        ("requests[cpuu]: Invalid value", "spec.template.spec.restartPolicy: Required value"),
    ),
    "a value of another type": (
        JOBS,
        status(400, "BadRequest", "json: cannot unmarshal string into Go struct field x"),
        ("refuse Job vision/mine: json: cannot unmarshal",),
    ),
    "an exceeded quota": (
        PODS,
        forbidden('pods "mine-x" is forbidden: exceeded quota: gpus, requested: 1, used: 4'),
        ("refuse the pods of Job vision/mine: ", "exceeded quota: gpus"),
    ),
    "a policy": (
        JOBS,
        forbidden('admission webhook "police" denied the request: no'),
        ("refuse Job vision/mine", "denied the request: no"),
    ),
    "a missing namespace": (
        JOBS,
        status(404, "NotFound", 'namespaces "vision" not found'),
        ("namespace vision not found", "kubectl get namespaces"),
    ),
    "a missing service account": (
        PODS,
        forbidden('error looking up service account x: serviceaccount "x" not found'),
        ('serviceaccount "x" not found',),
    ),
    "no such user": (JOBS, status(401, "Unauthorized", "no"), ("does not accept the credentials",)),
}


@pytest.mark.parametrize(("path", "answer", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_refusal_is_an_error_that_names_the_field(
    cluster: Cluster, path: str, answer: Canned, words: tuple[str, ...]
) -> None:
    cluster.server.known.answers[path] = answer
    code, out, err = cluster.what_if(job())
    assert (code, out) == (1, "")
    assert [word for word in words if word not in err] == []
    assert cluster.sent is None


def test_all_refusals_of_a_manifest_are_reported_together(cluster: Cluster) -> None:
    cluster.server.known.answers[JOBS] = strict('unknown field "spec.a"')
    code, _, err = cluster.what_if(job("one"), job("two"))
    assert (code, "Job vision/one" in err, "Job vision/two" in err) == (1, True, True)


CANNOT_CREATE = 'User "bob" cannot create resource "{}" in API group "" in the namespace "vision"'
NOT_CHECKED: dict[str, tuple[str, Canned, str]] = {
    "no right to create jobs": (
        JOBS,
        forbidden(f"jobs.batch is forbidden: {CANNOT_CREATE.format('jobs')}"),
        "you may not create jobs.batch in the namespace vision",
    ),
    "no right to create pods": (
        PODS,
        forbidden(f"pods is forbidden: {CANNOT_CREATE.format('pods')}"),
        "you may not create pods in the namespace vision",
    ),
    "a webhook that has side effects": (
        JOBS,
        status(400, "BadRequest", 'admission webhook "tell.example" does not support dry run'),
        "the admission webhook tell.example does not support dry runs",
    ),
    "an API group that is not served": (
        "/apis/batch/v1",
        NOT_SERVED,
        "the API server has no kind Job of batch/v1",
    ),
    "a kind that is not served": (
        "/apis/batch/v1",
        (200, b'{"resources": []}'),
        "the API server has no kind Job of batch/v1",
    ),
    "kinds that may not be listed": (
        "/apis/batch/v1",
        forbidden("no"),
        "the API server does not list the kinds of batch/v1",
    ),
    "a webhook that is down": (
        JOBS,
        status(500, "InternalError", 'failed calling webhook "police": refused'),
        'the API server answered 500: failed calling webhook "police": refused',
    ),
    "too many requests": (PODS, status(429, "TooManyRequests", "later"), "answered 429: later"),
    "a proxy on the way": (
        JOBS,
        (502, b"<html>\x1b"),
        "the API server answered 502: <html>\\u001b",
    ),
}


@pytest.mark.parametrize(("path", "answer", "why"), NOT_CHECKED.values(), ids=NOT_CHECKED.keys())
def test_an_unchecked_manifest_is_answered_with_the_reason(
    cluster: Cluster, path: str, answer: Canned, why: str
) -> None:
    cluster.server.known.answers[path] = answer
    code, out, err = cluster.what_if(job())
    assert (code, err) == (UNCHECKED, "")
    (note,) = (line for line in out.splitlines() if "not checked" in line)
    assert note.startswith("Note:     not checked by the API server: ")
    is_job = path in {JOBS, "/apis/batch/v1"}
    then = "its pods are checked, other defaults" if is_job else "defaults"
    assert f"{why}; {then} applied locally" in note
    assert "Checked:" not in out
    assert cluster.sent["spec"]["template"]["spec"]["containers"][0]["name"] == "c"


def test_a_missing_right_is_not_tried_again(cluster: Cluster) -> None:
    cluster.server.known.answers[PODS] = forbidden(CANNOT_CREATE.format("pods"))
    other = {"spec": {"containers": [{"name": "other"}]}}
    code, out, _ = cluster.what_if(job("one"), job("two", other))
    assert (code, out.count("you may not create")) == (UNCHECKED, 1)
    assert len(cluster.created(PODS)) == 1


def exists(kept: Callable[[bytes], Canned]) -> Callable[[bytes], Canned]:
    def answer(body: bytes) -> Canned:
        if json.loads(body)["metadata"].get("name") == "mine":
            return status(409, "AlreadyExists", 'jobs.batch "mine" already exists')
        return kept(body)

    return answer


def test_an_object_that_exists_is_checked_under_another_name(cluster: Cluster) -> None:
    cluster.server.known.answers[JOBS] = exists(stored)
    code, out, _ = cluster.what_if(job())
    assert (code, "Checked:" in out) == (0, True)
    assert [one["metadata"] for one in cluster.created(JOBS)] == [
        {"name": "mine"},
        {"generateName": "mine-"},
    ]
    assert cluster.sent["metadata"] == {"name": "mine"}
    assert cluster.sent["spec"]["template"]["metadata"]["labels"] == {
        "batch.kubernetes.io/job-name": "mine"
    }


def test_an_existing_object_may_be_refused_too(cluster: Cluster) -> None:
    cluster.server.known.answers[JOBS] = exists(lambda _: strict('unknown field "spec.a"'))
    assert cluster.what_if(job())[0] == 1


def test_objects_of_the_manifest_itself_are_not_missing(cluster: Cluster) -> None:
    cluster.server.known.answers[JOBS] = status(404, "NotFound", 'namespaces "vision" not found')
    cluster.server.known.answers[PODS] = forbidden("no PriorityClass with name high was found")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vision"}}
    high = {"apiVersion": "v1", "kind": "PriorityClass", "metadata": {"name": "high"}}
    code, out, _ = cluster.what_if(namespace, high, job())
    assert code == UNCHECKED
    assert "the manifest itself creates namespaces vision" in out
    assert "the manifest itself creates priorityclass high" in out


def test_fields_that_an_operator_may_add_are_not_missing(cluster: Cluster) -> None:
    where = "spec.containers[0].image"
    cluster.server.known.answers[PODS] = invalid((where, "Required value", "FieldValueRequired"))
    code, out, _ = cluster.what_if(torch(Worker=LIMITED))
    assert code == UNCHECKED
    assert f"lack fields that its operator may add: {where}: Required value" in out
    assert cluster.what_if(job())[0] == 1
    cluster.server.known.answers[PODS] = invalid((where, "Invalid value", "FieldValueInvalid"))
    assert cluster.what_if(torch(Worker=LIMITED))[0] == 1


def test_json_has_the_check_of_the_api_server(cluster: Cluster) -> None:
    code, out, _ = cluster.what_if(job(), more=("-o", "json"))
    whole = {"by_api_server": True, "reason": "", "pods_by_api_server": True}
    assert (code, json.loads(out)["checked"]) == (0, whole)
    cluster.server.known.answers[JOBS] = forbidden(CANNOT_CREATE.format("jobs"))
    code, out, _ = cluster.what_if(job(), more=("-o", "json"))
    why = "you may not create jobs.batch in the namespace vision"
    assert (code, json.loads(out)["checked"]) == (
        UNCHECKED,
        {"by_api_server": False, "reason": why, "pods_by_api_server": True},
    )


def test_without_a_manifest_there_is_nothing_to_check(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["what-if", "--workers", "1", "--cpu", "1", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["checked"] is None
    assert len(cluster.server.known.asked) == 2  # a token for the question, and the question


def test_a_secret_is_checked_and_not_sent_to_the_extender(cluster: Cluster) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "data": {"k": "eA=="},
    }
    assert cluster.what_if(secret, job())[0] == 0
    assert cluster.created("/api/v1/namespaces/vision/secrets")[0]["data"] == {"k": "eA=="}
    assert cluster.sent["items"][0] == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
    }


def test_a_large_manifest_is_checked_in_part(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "MOST_OBJECTS", 2)
    code, out, _ = cluster.what_if(job("a"), job("b"), job("c"))
    assert (code, len(cluster.created(JOBS))) == (UNCHECKED, 2)
    assert "only the first 2 objects of a manifest are checked" in out
    monkeypatch.setattr(checking, "MOST_TEMPLATES", 1)
    other = {"spec": {"containers": [{"name": "other"}]}}
    code, out, _ = cluster.what_if(torch(Master=LIMITED, Worker=other))
    assert "only 1 different pod templates are checked" in out


def test_a_list_is_checked_object_by_object(cluster: Cluster) -> None:
    body = {"apiVersion": "v1", "kind": "List", "items": [job("a"), job("b")]}
    assert cluster.what_if(body)[0] == 0
    assert [one["metadata"]["name"] for one in cluster.sent["items"]] == ["a", "b"]


ODD: dict[str, Any] = {
    "no object": ["x"],
    "no metadata": {"apiVersion": "v1", "kind": "Pod"},
    "a version that leads elsewhere": {**job(), "apiVersion": "../../../v1?x"},
    "a namespace that leads elsewhere": {**job(), "metadata": {"name": "x", "namespace": ".."}},
}


@pytest.mark.parametrize("document", ODD.values(), ids=ODD.keys())
def test_a_malformed_object_is_left_to_the_extender(cluster: Cluster, document: Any) -> None:
    cluster.what_if(document)
    paths = [path for path in cluster.server.known.asked if ".." in path]
    assert paths == []


def test_by_url_nothing_is_checked(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known = cluster.server.known
    known.answers["/v1/what-if"] = known.answers[f"{PROXY}/v1/what-if"]
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job()))
    ca = ("--ca", str(cluster.server.authority))
    assert main(["what-if", "-f", str(file), "--url", known.url, *ca]) == UNCHECKED
    assert "not checked by the API server: asked by --url" in cluster.capsys.readouterr().out
