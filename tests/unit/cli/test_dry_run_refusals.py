"""Manifests that the API server refuses, or that it cannot check, in a dry run of what-if."""

import json
from collections.abc import Callable

import pytest

from tests.unit.cli.conftest import NOT_SERVED, ApiServer, Canned
from tests.unit.cli.dry_run_cluster import (
    CANNOT_CREATE,
    JOBS,
    LIMITED,
    PODS,
    UNCHECKED,
    Cluster,
    accepting,
    forbidden,
    invalid,
    job,
    status,
    stored,
    strict,
    torch,
)


@pytest.fixture
def cluster(api_server: ApiServer, capsys: pytest.CaptureFixture[str]) -> Cluster:
    return accepting(api_server, capsys)


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
