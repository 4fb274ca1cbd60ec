"""`shuntyard what-if -f`: the API server checks the manifest first, the extender answers then.

Defect B1: its defaults, such as requests that follow limits, were missing.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.__main__ import main
from cli.dry_run import checking
from tests.unit.cli.conftest import ApiServer
from tests.unit.cli.dry_run_cluster import (
    CANNOT_CREATE,
    GPU,
    JOBS,
    LIMITED,
    PODS,
    UNCHECKED,
    Cluster,
    accepting,
    forbidden,
    job,
    torch,
)
from tests.unit.cli.test_by_service import PROXY


@pytest.fixture
def cluster(api_server: ApiServer, capsys: pytest.CaptureFixture[str]) -> Cluster:
    return accepting(api_server, capsys)


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
