"""Volumes, their claims and the claims of pods are decoded, or give one kind of error."""

from typing import Any

import pytest

from shared import model
from shared.kube import parse
from shared.objects.claims import PersistentVolume, PersistentVolumeClaim
from tests.fakes.kube_objects import encoded, pod

CLAIMS: dict[str, tuple[list[dict[str, Any]] | None, tuple[str, ...]]] = {
    "none": (None, ()),
    "sorted, each once": (
        [
            {"name": "a", "persistentVolumeClaim": {"claimName": "z"}},
            {"name": "b", "persistentVolumeClaim": {"claimName": "c"}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "z", "readOnly": True}},
            {"name": "d", "emptyDir": {}},
        ],
        ("c", "z"),
    ),
    "of no name": ([{"name": "a", "persistentVolumeClaim": {}}], ("",)),
    "null": ([{"name": "a", "persistentVolumeClaim": None}], ()),
}


@pytest.mark.parametrize(("volumes", "names"), CLAIMS.values(), ids=CLAIMS)
def test_the_claims_of_a_pod_are_read(
    volumes: list[dict[str, Any]] | None, names: tuple[str, ...]
) -> None:
    assert parse.decode_pod(encoded(pod(volumes=volumes))).claims == names


COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}
FOR_MANY = {"volumeName": "v", "accessModes": ["ReadWriteMany"]}
VOLUME_CLAIMS: dict[str, tuple[dict[str, Any], dict[str, str], str, dict[str, Any]]] = {
    "bound, for many": (FOR_MANY, COMPLETED, "Bound", {"volume": "v", "many_nodes": True}),
    "bound, for many that read": (
        {"volumeName": "v", "accessModes": ["ReadOnlyMany"]},
        COMPLETED,
        "Bound",
        {"volume": "v", "many_nodes": True},
    ),
    "bound, for one node": (
        {"volumeName": "v", "accessModes": ["ReadWriteOnce"]},
        COMPLETED,
        "Bound",
        {"volume": "v"},
    ),
    "for one pod, whatever else": (
        {"volumeName": "v", "accessModes": ["ReadWriteMany", "ReadWriteOncePod"]},
        COMPLETED,
        "Bound",
        {"volume": "v"},
    ),
    "bound, and its phase does not show it yet": (
        FOR_MANY,
        COMPLETED,
        "Pending",
        {"volume": "v", "many_nodes": True},
    ),
    "named, but not yet bound": (FOR_MANY, {}, "Pending", {"many_nodes": True}),
    "its volume is lost": (FOR_MANY, COMPLETED, "Lost", {"many_nodes": True}),
    "nothing is known": ({}, {}, "", {}),
}


@pytest.mark.parametrize(
    ("spec", "notes", "phase", "fields"), VOLUME_CLAIMS.values(), ids=VOLUME_CLAIMS
)
def test_a_claim_has_its_volume_and_its_access_mode(
    spec: dict[str, Any], notes: dict[str, str], phase: str, fields: dict[str, Any]
) -> None:
    metadata = {"name": "c", "namespace": "n", "uid": "u", "annotations": notes}
    status = {"phase": phase} if phase else {}
    claim = parse.decode_volume_claim(
        encoded({"metadata": metadata, "spec": spec, "status": status})
    )
    assert claim == PersistentVolumeClaim(namespace="n", name="c", uid=model.Uid("u"), **fields)


def test_a_claim_that_is_being_deleted_is_marked() -> None:
    metadata = {"name": "c", "namespace": "n", "deletionTimestamp": "2026-11-21T10:00:00Z"}
    assert parse.decode_volume_claim(encoded({"metadata": metadata})).deleting


LOCAL = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["a"]}
VOLUMES: dict[str, tuple[dict[str, str] | None, dict[str, Any] | None, dict[str, Any]]] = {
    "reached from everywhere": (None, {"hostPath": {"path": "/x"}}, {}),
    "without a spec": (None, None, {}),
    "local": (
        None,
        {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [LOCAL]}]}}},
        {
            "affinity": (
                model.NodeSelectorTerm(
                    (model.Requirement("kubernetes.io/hostname", "In", ("a",)),)
                ),
            )
        },
    ),
    "affine to nothing in particular": (None, {"nodeAffinity": {}}, {}),
    "labelled with a zone": ({"topology.kubernetes.io/zone": "a"}, {}, {"zonal": True}),
    "labelled with a region, as of old": (
        {"failure-domain.beta.kubernetes.io/region": "a"},
        {},
        {"zonal": True},
    ),
    "labelled with something else": ({"zone": "a"}, {}, {}),
}


@pytest.mark.parametrize(("tags", "spec", "fields"), VOLUMES.values(), ids=VOLUMES)
def test_a_volume_has_the_nodes_that_reach_it(
    tags: dict[str, str] | None, spec: dict[str, Any] | None, fields: dict[str, Any]
) -> None:
    manifest = {"metadata": {"name": "v", "labels": tags}, "spec": spec}
    volume = parse.decode_volume(encoded(manifest))
    assert volume == PersistentVolume(name="v", **fields)
