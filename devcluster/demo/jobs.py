"""The example jobs: read from ``examples/``, applied to a cluster."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from devcluster.demo.history import JobName
from shared.kube import paths
from shared.kube.client import KubeClient

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"
VOLUME_PATH: Final = "/var/lib/shuntyard/volume"
"""The shared volume in the manifests; the only text that the demo changes."""

ORDER: Final = (
    "single-a",
    "single-b",
    "single-c",
    "whole-nodes-3",
    "data-parallel-4",
    "ps-2ps6worker",
)
"""Order of submission: the most valuable last, unlike the order in which they should run."""

ELASTIC: Final = "elastic"
PRICED: Final = "priced"
PARKED: Final = "parked"
LAST: Final = (PARKED, PRICED, ELASTIC)
"""Submitted once the others have finished: the last of them takes all room that there is."""

_COLLECTIONS: Final[Mapping[str, str]] = {
    "ConfigMap": "/api/v1/configmaps",
    "Job": paths.JOBS,
    "Namespace": paths.NAMESPACES,
    "PriorityClass": paths.PRIORITY_CLASSES,
    "Service": "/api/v1/services",
}

Manifest = Mapping[str, Any]


@dataclass(frozen=True)
class ExampleJob:
    """One training job: a file of examples/, one gang."""

    name: JobName
    manifests: tuple[Manifest, ...]
    size: int


def read_jobs(volume: Path) -> tuple[ExampleJob, ...]:
    """Return the jobs in the order in which they are submitted; their files go to ``volume``."""
    return tuple(_read_job(EXAMPLES / f"{name}.yaml", volume) for name in ORDER)


def read_last(volume: Path) -> tuple[ExampleJob, ...]:
    """Return the jobs that come after the others; their files go to ``volume``."""
    return tuple(_read_job(EXAMPLES / f"{name}.yaml", volume) for name in LAST)


def surroundings() -> tuple[Manifest, ...]:
    """Return namespaces, priority classes, and the training programs as a ConfigMap each."""
    manifests = _documents((EXAMPLES / "namespaces.yaml").read_text())
    scripts = sorted((EXAMPLES / "training").glob("*.py"))
    programs = {path.name: path.read_text() for path in scripts}
    config_maps = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "training", "namespace": manifest["metadata"]["name"]},
            "data": programs,
        }
        for manifest in manifests
        if manifest["kind"] == "Namespace"
    ]
    return (*manifests, *config_maps)


async def create(client: KubeClient, manifests: Iterable[Manifest]) -> None:
    """Create objects, one after the other."""
    for manifest in manifests:
        collection, namespace = (
            _COLLECTIONS[manifest["kind"]],
            manifest["metadata"].get("namespace"),
        )
        path = paths.namespaced(collection, namespace) if namespace else collection
        await client.post(path, manifest)


def _documents(text: str) -> tuple[Manifest, ...]:
    return tuple(document for document in yaml.safe_load_all(text) if document)


def _read_job(file: Path, volume: Path) -> ExampleJob:
    manifests = _documents(file.read_text().replace(VOLUME_PATH, str(volume)))
    jobs = [manifest for manifest in manifests if manifest["kind"] == "Job"]
    namespace = jobs[0]["metadata"]["namespace"]
    return ExampleJob(
        name=f"{namespace}/{file.stem}",
        manifests=manifests,
        size=sum(job["spec"]["completions"] for job in jobs),
    )
