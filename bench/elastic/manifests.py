"""The objects of a live job: the example ``examples/elastic.yaml`` with a job's own numbers."""

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
"""How often rank 0 looks whether a checkpoint is asked for: runs are short here."""
EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"


async def prepare(client: KubeClient, coming: Sequence[ElasticJob]) -> None:
    """Create what the jobs need beside themselves."""
    utilities = frozenset(one.simulated.utility for one in coming)
    for manifest in priority_classes(utilities):
        await client.post(paths.PRIORITY_CLASSES, manifest)
    await client.post(paths.namespaced("/api/v1/configmaps", NAMESPACE), programs())
    for one in coming:
        path = paths.namespaced("/api/v1/services", NAMESPACE)
        await client.post(path, service(one.name))


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
    """Yield a class for each utility; kube-scheduler shall not push anybody out for it."""
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
    made = copy.deepcopy(_example("Service"))
    made["metadata"] = {"name": name}
    made["spec"]["selector"] = {labels.JOB_NAME_LABEL: name}
    return made


def job(elastic: ElasticJob, directory: Path, *, scaled_by_us: bool, suspended: bool) -> Manifest:
    """Return the Job, with the number of workers it starts with.

    Args:
        elastic: The job.
        directory: Its own on the shared volume.
        scaled_by_us: Whether it says that its workers may change; if not, it is a gang of them.
        suspended: Whether somebody else begins it.
    """
    made, simulated = copy.deepcopy(_example("Job")), elastic.simulated
    made["metadata"] = {"name": elastic.name, "annotations": {}}
    if scaled_by_us:
        made["metadata"]["annotations"][labels.WORKERS] = f"{simulated.least}..{simulated.most}"
    counts = {"completions": simulated.wanted, "parallelism": simulated.wanted}
    made["spec"] |= {**counts, "suspend": suspended}
    template = made["spec"]["template"]
    del template["metadata"]["annotations"][labels.MAX_WAIT]
    pod = template["spec"]
    pod |= {"priorityClassName": priority_class(simulated.utility), "subdomain": elastic.name}
    (container,) = pod["containers"]
    cpu, memory = simulated.worker
    container["resources"] = {"requests": {"cpu": f"{cpu}m", "memory": str(memory)}}
    container["env"] = [_said(entry, environment(elastic)) for entry in container["env"]]
    known = {entry["name"] for entry in container["env"]}
    container["env"] += [
        {"name": name, "value": value}
        for name, value in environment(elastic).items()
        if name not in known
    ]
    for volume in pod["volumes"]:
        if "hostPath" in volume:
            volume["hostPath"]["path"] = str(directory)
    return made


def environment(elastic: ElasticJob) -> dict[str, str]:
    """Return what the program is told about the job, beside where it is."""
    return {
        "ROOT_HOST": f"{elastic.name}-0.{elastic.name}",
        "STEPS": str(elastic.steps),
        "SEED": str(elastic.seed),
        "POLL_SECONDS": str(POLL_SECONDS),
        "COMPUTE_SECONDS": f"{elastic.pace.compute:.6f}",
        "FIXED_SECONDS": f"{elastic.pace.fixed:.6f}",
        "EXCHANGE_SECONDS": f"{elastic.pace.exchange:.6f}",
    }


def _said(entry: Manifest, said: dict[str, str]) -> Manifest:
    name = entry["name"]
    return {"name": name, "value": said[name]} if name in said else entry


def _example(kind: str) -> Manifest:
    documents = yaml.safe_load_all((EXAMPLES / "elastic.yaml").read_text())
    found: Manifest = next(one for one in documents if one["kind"] == kind)
    return found
