"""An upgrade changes nothing that the API server does not let change.

Compared with the first chart that there was: what is fixed here is a contract with installations.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.deploy import helm
from tests.deploy.rendering import Manifest
from tests.deploy.test_chart import AS_IN, OURS

FIRST = Path(__file__).parents[1] / "fixtures" / "first_chart.json"
"""By setup and object: the fields below, of the chart of 2026-11-24 (commit 0fe2df3c)."""
FIXED: Mapping[str, tuple[str, ...]] = {
    "Deployment": ("spec.selector",),
    "DaemonSet": ("spec.selector",),
    "RoleBinding": ("roleRef",),
    "ClusterRoleBinding": ("roleRef",),
    "Service": ("spec.clusterIP", "spec.type"),
    "CustomResourceDefinition": ("spec.group", "spec.scope", "spec.names"),
    "PersistentVolume": ("spec.nfs", "spec.hostPath", "spec.accessModes"),
    "PersistentVolumeClaim": (
        "spec.accessModes",
        "spec.storageClassName",
        "spec.volumeName",
        "spec.resources",
    ),
    "PriorityClass": ("value", "preemptionPolicy"),
    "Secret": ("type",),
}


def fixed(manifests: tuple[Manifest, ...]) -> dict[str, dict[str, Any]]:
    """Return the fields that cannot be changed, by object."""
    return {
        "/".join((one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"])): {
            path: field(one, path) for path in FIXED[one["kind"]]
        }
        for one in manifests
        if one["kind"] in FIXED
    }


def field(manifest: Manifest, path: str) -> Any:
    value: Any = manifest
    for name in path.split("."):
        value = (value or {}).get(name)
    return value


@pytest.mark.parametrize("setup", AS_IN)
def test_objects_of_the_first_chart_are_updated_in_place(setup: str, tmp_path: Path) -> None:
    before = json.loads(FIRST.read_text())[setup]
    now = fixed(helm.rendered({**OURS, **AS_IN[setup]}, tmp_path))
    assert before, "the setup has such objects"
    assert {name: now.get(name) for name in before} == before
