from typing import Any

import pytest

from devcluster.process_node.environment import Sources
from devcluster.process_node.errors import ConfigError, RefusedError
from devcluster.process_node.volume_files import files
from devcluster.process_node.volumes import (
    Claim,
    EmptyDirectory,
    Files,
    HostPath,
    Plan,
    TokenFile,
    object_names,
    plan,
)
from tests.unit.process_node.pods import AROUND, pod

CASES: dict[str, tuple[dict[str, Any], Plan]] = {
    "emptyDir": ({"emptyDir": {}}, EmptyDirectory()),
    "no kind is emptyDir": ({}, EmptyDirectory()),
    "hostPath": ({"hostPath": {"path": "/p", "type": ""}}, HostPath(path="/p", type="")),
    "a claim": ({"persistentVolumeClaim": {"claimName": "c"}}, Claim(claim_name="c")),
}


@pytest.mark.parametrize(("volume", "want"), CASES.values(), ids=CASES)
def test_a_volume_is_planned_by_its_kind(volume: dict[str, Any], want: Plan) -> None:
    assert plan(pod(volumes=[{"name": "v"} | volume])) == {"v": want}


REFUSED: dict[str, dict[str, Any]] = {
    "csi": {"csi": {"driver": "d"}},
    "nfs": {"nfs": {"server": "s", "path": "/"}},
    "an ephemeral claim": {"ephemeral": {}},
    "a projected bundle": {"projected": {"sources": [{"clusterTrustBundle": {}}]}},
}


@pytest.mark.parametrize("volume", REFUSED.values(), ids=REFUSED)
def test_other_kinds_are_refused_by_name(volume: dict[str, Any]) -> None:
    with pytest.raises(RefusedError, match='volume "far"'):
        plan(pod(volumes=[{"name": "far"} | volume]))


PROJECTED = {
    "name": "all",
    "projected": {
        "defaultMode": 0o600,
        "sources": [
            {"configMap": {"name": "conf", "items": [{"key": "a", "path": "sub/a"}]}},
            {"secret": {"name": "key"}},
            {"downwardAPI": {"items": [{"path": "me", "fieldRef": {"fieldPath": "metadata.uid"}}]}},
            {"serviceAccountToken": {"path": "token", "audience": "x"}},
        ],
    },
}
SOURCES = Sources({"conf": {"a": b"1", "b": b"2"}}, {"key": {"t": b"s3"}})
TOKENS = {TokenFile(path="token", audience="x"): "jwt"}


def planned(volume: dict[str, Any]) -> Files:
    found = plan(pod(volumes=[volume]))[volume["name"]]
    assert isinstance(found, Files)
    return found


def test_a_projected_volume_holds_the_files_of_all_its_sources() -> None:
    found = files(pod(), planned(PROJECTED), SOURCES, AROUND, TOKENS)
    contents = {path: file.content for path, file in found.items()}
    assert contents == {"sub/a": b"1", "t": b"s3", "me": b"u", "token": b"jwt"}
    assert {file.mode for file in found.values()} == {0o600}


def test_the_objects_that_files_come_from_are_found() -> None:
    secret = {"name": "s", "secret": {"secretName": "other"}}
    assert object_names(plan(pod(volumes=[PROJECTED, secret]))) == ({"conf"}, {"key", "other"})


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a missing object": ({"configMap": {"name": "no"}}, 'configmap "no" not found'),
    "a missing key": (
        {"configMap": {"name": "conf", "items": [{"key": "z", "path": "z"}]}},
        'no key "z"',
    ),
    "a path that leaves the volume": (
        {"configMap": {"name": "conf", "items": [{"key": "a", "path": "../a"}]}},
        "leaves its volume",
    ),
}


@pytest.mark.parametrize(("volume", "words"), WRONG.values(), ids=WRONG)
def test_files_that_cannot_be_made_are_named(volume: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        files(pod(), planned({"name": "v"} | volume), SOURCES, AROUND, {})


def test_an_optional_object_may_be_missing() -> None:
    volume = {"name": "v", "configMap": {"name": "no", "optional": True}}
    assert files(pod(), planned(volume), SOURCES, AROUND, {}) == {}
