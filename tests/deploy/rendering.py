"""The output of `kubectl kustomize` for every supported combination of folders of deploy/."""

import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

DEPLOY: Final = Path(__file__).parents[2] / "deploy"
KUBECTL: Final = shutil.which("kubectl")

needs_kubectl = pytest.mark.skipif(
    KUBECTL is None, reason="there is no kubectl in PATH, which renders kustomizations"
)

Manifest = Mapping[str, Any]


class Setup(NamedTuple):
    """Folders of deploy/ that a user's kustomization names."""

    resources: tuple[str, ...]
    components: tuple[str, ...] = ()


_BASE: Final = "base"
_ATTACHED: Final = "overlays/attached"
_CERT_MANAGER: Final = "components/cert-manager"
SETUPS: Final = {
    "the base alone": Setup((_BASE,)),
    "a trial": Setup((_BASE, "overlays/demo-pv"), ("components/gate",)),
    "everything": Setup(
        (_BASE, "overlays/nfs", "overlays/monitoring"),
        ("components/gate", "components/critical-quota"),
    ),
    "with cert-manager": Setup((_BASE,), (_CERT_MANAGER,)),
    "attached": Setup((_ATTACHED,), ("components/gate",)),
    "attached with cert-manager": Setup((_ATTACHED,), (_CERT_MANAGER,)),
}
every_setup = pytest.mark.parametrize("setup", SETUPS.values(), ids=SETUPS)


@functools.cache
def rendered(setup: Setup) -> tuple[Manifest, ...]:
    """Return the objects, as `kubectl apply -k` would send them."""
    return kustomized(setup, {}, {})


def kustomized(
    setup: Setup, more: Mapping[str, Any], files: Mapping[str, str]
) -> tuple[Manifest, ...]:
    """Return the objects of a kustomization with the fields ``more`` and ``files`` beside it."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory).resolve()
        kustomization = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [os.path.relpath(DEPLOY / one, place) for one in setup.resources],
            "components": [os.path.relpath(DEPLOY / one, place) for one in setup.components],
            **more,
        }
        for name, text in {**files, "kustomization.yaml": yaml.safe_dump(kustomization)}.items():
            (place / name).write_text(text)
        assert KUBECTL is not None
        done = subprocess.run(
            [KUBECTL, "kustomize", directory], capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    return tuple(yaml.safe_load_all(done.stdout))


def of_kind(setup: Setup, *kinds: str) -> Iterator[Manifest]:
    """Yield its objects of some kinds."""
    return (one for one in rendered(setup) if one["kind"] in kinds)


def named(setup: Setup, kind: str, name: str) -> Manifest:
    """Return one of its objects; of a generated one the name without its hash."""
    found = [one for one in of_kind(setup, kind) if _plain(one["metadata"]["name"], name) == name]
    assert len(found) == 1, (kind, name, [one["metadata"]["name"] for one in found])
    return found[0]


def pod_of(workload: Manifest) -> dict[str, Any]:
    """Return the pod's spec of a Deployment or DaemonSet."""
    spec: dict[str, Any] = workload["spec"]["template"]["spec"]
    return spec


def containers(workload: Manifest) -> dict[str, dict[str, Any]]:
    """Return its containers by name."""
    return {one["name"]: one for one in pod_of(workload)["containers"]}


def _plain(given: str, wanted: str) -> str:
    """Return the name without the hash that kustomize appends."""
    stem, _, rest = given.rpartition("-")
    return stem if stem == wanted and len(rest) == len("7h2gbhbk2c") else given
