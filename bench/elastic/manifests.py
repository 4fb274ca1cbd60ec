"""The objects of a live job: ``examples/elastic.yaml`` with the job's numbers."""

import copy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from bench.elastic.scenario import ElasticJob
from shared import labels
from shared.kube import paths
from shared.kube.client import KubeClient

Manifest = dict[str, Any]

NAMESPACE: Final = "default"
POLL_SECONDS: Final = 0.2
"""Poll interval of rank 0 for checkpoint requests: runs are short here."""
EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"


async def prepare(client: KubeClient, coming: Sequence[ElasticJob]) -> None:
    """Create the other objects that the jobs need."""
    utilities = frozenset(job.simulated.utility for job in coming)
    for manifest in priority_classes(utilities):
        await client.post(paths.PRIORITY_CLASSES, manifest)
    await client.post(paths.namespaced("/api/v1/configmaps", NAMESPACE), programs())
    for job in coming:
        path = paths.namespaced("/api/v1/services", NAMESPACE)
        await client.post(path, service(job.name))


def programs() -> Manifest:
    """Return the ConfigMap with the training programs."""
    scripts = sorted((EXAMPLES / "training").glob("*.py"))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "training"},
        "data": {path.name: path.read_text() for path in scripts},
    }


def priority_classes(utilities: frozenset[int]) -> Iterator[Manifest]:
    """Yield a class per utility, without preemption by kube-scheduler."""
    for utility in sorted(utilities):
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": priority_class(utility)},
            "value": utility,
            "preemptionPolicy": "Never",
        }


def priority_class(utility: int) -> str:
    """Return the name of a utility's class."""
    return f"utility-{utility}"


def service(name: str) -> Manifest:
    """Return the Service by which a job's workers find rank 0."""
    manifest = copy.deepcopy(_example("Service"))
    manifest["metadata"] = {"name": name}
    manifest["spec"]["selector"] = {labels.JOB_NAME_LABEL: name}
    return manifest


def job(elastic: ElasticJob, directory: Path, *, scaled_by_us: bool, suspended: bool) -> Manifest:
    """Return the Job with its initial number of workers.

    Args:
        elastic: The job.
        directory: Its directory on the shared volume.
        scaled_by_us: Whether its annotations allow changes of its workers; else it is a gang.
        suspended: Whether it is created suspended, to be started by DRAGON.
    """
    manifest, simulated = copy.deepcopy(_example("Job")), elastic.simulated
    manifest["metadata"] = {"name": elastic.name, "annotations": {}}
    if scaled_by_us:
        manifest["metadata"]["annotations"][labels.WORKERS] = f"{simulated.least}..{simulated.most}"
    counts = {"completions": simulated.wanted, "parallelism": simulated.wanted}
    manifest["spec"] |= {**counts, "suspend": suspended}
    template = manifest["spec"]["template"]
    del template["metadata"]["annotations"][labels.MAX_WAIT]
    pod = template["spec"]
    pod |= {"priorityClassName": priority_class(simulated.utility), "subdomain": elastic.name}
    (container,) = pod["containers"]
    cpu, memory = simulated.worker
    container["resources"] = {"requests": {"cpu": f"{cpu}m", "memory": str(memory)}}
    container["env"] = [_with_values(entry, environment(elastic)) for entry in container["env"]]
    names = {entry["name"] for entry in container["env"]}
    container["env"] += [
        {"name": name, "value": value}
        for name, value in environment(elastic).items()
        if name not in names
    ]
    for volume in pod["volumes"]:
        if "hostPath" in volume:
            volume["hostPath"]["path"] = str(directory)
    return manifest


def environment(elastic: ElasticJob) -> dict[str, str]:
    """Return the environment of the program, except its location."""
    return {
        "ROOT_HOST": f"{elastic.name}-0.{elastic.name}",
        "STEPS": str(elastic.steps),
        "SEED": str(elastic.seed),
        "POLL_SECONDS": str(POLL_SECONDS),
        "COMPUTE_SECONDS": f"{elastic.pace.compute:.6f}",
        "FIXED_SECONDS": f"{elastic.pace.fixed:.6f}",
        "EXCHANGE_SECONDS": f"{elastic.pace.exchange:.6f}",
    }


def _with_values(entry: Manifest, values: dict[str, str]) -> Manifest:
    name = entry["name"]
    return {"name": name, "value": values[name]} if name in values else entry


def _example(kind: str) -> Manifest:
    documents = yaml.safe_load_all((EXAMPLES / "elastic.yaml").read_text())
    document: Manifest = next(candidate for candidate in documents if candidate["kind"] == kind)
    return document
