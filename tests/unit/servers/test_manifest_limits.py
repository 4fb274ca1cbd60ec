"""Limits of the manifest of a what-if, counted before anything is created (defect A3)."""

import json
import tracemalloc
from collections.abc import Mapping
from typing import Any

import pytest

from extender.servers.readapi import manifests
from extender.servers.readapi.manifest_limits import (
    MOST_PODS,
    MOST_SHAPES,
    MOST_TRAITS,
    MOST_TRAITS_IN_ALL,
)
from shared.errors import InputError
from shared.kube.excess import MOST_TERMS
from shared.kube.kept_keys import COMMON
from tests.unit.servers.test_manifests import job, kubeflow, manifest, pod, template

MOST_MADE_BYTES = 32 * 2**20
"""The body and what is decoded of it; a hundred thousand Jobs would be three times as much."""
TEN_TIMES = 10


def replicated(number: int, replicas: Any, **spec: Any) -> dict[str, Any]:
    job_spec = {"template": template(), **spec}
    return {"name": f"part-{number}", "replicas": replicas, "template": {"spec": job_spec}}


def job_set(*parts: Mapping[str, Any], name: str = "mine") -> dict[str, Any]:
    return manifest("JobSet", "jobset.x-k8s.io/v1alpha2", {"replicatedJobs": parts}, name=name)


def listed(*items: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "List", "apiVersion": "v1", "items": items}


MOST_LABELS = COMMON.labels


def labelled(count: int, **spec: Any) -> dict[str, Any]:
    marks = {f"label-{i}": "" for i in range(count)}
    return job(template={**template(), "metadata": {"labels": marks}}, **spec)


def shaped(count: int) -> dict[str, Any]:
    """Return a List of the pods of one job, each with another request."""
    marks = {"shuntyard.io/job": "mine"}
    items = [pod(f"p-{i}", labels=marks) for i in range(count)]
    for number, item in enumerate(items):
        item["spec"] = template(cpu=f"{number + 1}m")["spec"]
    return listed(*items)


TOO_MUCH: dict[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
    "a hundred replicated jobs of ten thousand each": (
        job_set(*(replicated(i, MOST_PODS) for i in range(100))),
        ("20000 Jobs", f"at most {MOST_PODS}"),
    ),
    "a thousand replicated jobs of ten thousand each": (
        job_set(*(replicated(i, MOST_PODS) for i in range(1000))),
        ("20000 Jobs", f"at most {MOST_PODS}"),
    ),
    "Jobs of no pods, which are objects too": (
        job_set(*(replicated(i, MOST_PODS, parallelism=0) for i in range(TEN_TIMES))),
        ("Jobs", f"at most {MOST_PODS}"),
    ),
    "the same over the objects of a list": (
        listed(
            *(
                job_set(replicated(0, MOST_PODS, parallelism=0), name=f"s-{i}")
                for i in range(TEN_TIMES)
            )
        ),
        ("Jobs", f"at most {MOST_PODS}"),
    ),
    "few jobs of many pods each": (
        job_set(replicated(0, TEN_TIMES, parallelism=MOST_PODS)),
        (f"{TEN_TIMES * MOST_PODS} pods",),
    ),
    "a trillion replicas": (job_set(replicated(0, 10**12)), ("at most",)),
    "a number of thirty digits": (job_set(replicated(0, 10**30)), ("at most",)),
    "a negative number of replicas": (job_set(replicated(0, -1)), ("replicas", "-1")),
    "a negative number that makes up for too many": (
        kubeflow("MPIJob", "mpiReplicaSpecs", Launcher=-TEN_TIMES * MOST_PODS, Worker=MOST_PODS),
        ("MPIJob mine", "replicas"),
    ),
    "a negative number of pods of each": (
        job_set(replicated(0, 5, parallelism=-5), replicated(1, 1)),
        ("-5",),
    ),
    "replicas as a text": (job_set(replicated(0, "many")), ("replicas",)),
    "roles that are too many together": (
        kubeflow("MPIJob", "mpiReplicaSpecs", Launcher=MOST_PODS, Worker=1),
        (f"{MOST_PODS + 1} pods",),
    ),
    "objects of a list that are too many together": (
        listed(
            *(
                manifest("StatefulSet", "apps/v1", {"template": template(), "replicas": 6000})
                for _ in range(2)
            )
        ),
        ("12000 pods",),
    ),
    "more labels than a template may have": (
        labelled(TEN_TIMES * MOST_TRAITS),
        (f"at most {MOST_LABELS} labels",),
    ),
    "labels that are copied for each pod": (
        labelled(
            MOST_LABELS - 10, parallelism=MOST_PODS, completions=MOST_PODS, completionMode="Indexed"
        ),
        ("together", f"at most {MOST_TRAITS_IN_ALL}"),
    ),
    "host ports without number": (
        job(
            template=template(
                containers=[
                    {
                        "name": "x",
                        "ports": [
                            {"hostPort": i, "containerPort": i}
                            for i in range(1, TEN_TIMES * MOST_TRAITS)
                        ],
                    }
                ]
            )
        ),
        ("host ports", f"at most {MOST_TRAITS}"),
    ),
    "affinity terms without number": (
        job(
            template=template(
                affinity={
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": f"k{i}", "operator": "Exists"}]}
                                for i in range(TEN_TIMES * MOST_TRAITS)
                            ]
                        }
                    }
                }
            )
        ),
        ("affinity", f"at most {MOST_TERMS} are allowed"),
    ),
    "more shapes of pods than a job has": (shaped(TEN_TIMES * MOST_SHAPES), ("shapes",)),
}


@pytest.mark.parametrize(("body", "words"), TOO_MUCH.values(), ids=TOO_MUCH.keys())
def test_a_manifest_beyond_a_limit_is_refused_before_pods_are_created(
    body: Mapping[str, Any], words: tuple[str, ...]
) -> None:
    """(defect A3): 12 kB of JobSet created a million Jobs before they were counted."""
    data = json.dumps(body).encode()
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as refused:
            manifests.read(data, "default", "shuntyard")
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [word for word in words if word not in str(refused.value)] == []
    assert peak_bytes < MOST_MADE_BYTES


ENOUGH: dict[str, tuple[Mapping[str, Any], int]] = {
    "as many pods as may be": (job(parallelism=MOST_PODS), MOST_PODS),
    "as many Jobs as may be": (
        job_set(*(replicated(i, MOST_PODS // 10) for i in range(10))),
        MOST_PODS,
    ),
    "as many labels as a template may have": (labelled(MOST_LABELS - 10), 1),
    "as many shapes as may be": (shaped(MOST_SHAPES), MOST_SHAPES),
    "a role without pods": (kubeflow("MPIJob", "mpiReplicaSpecs", Launcher=1, Worker=0), 1),
}


@pytest.mark.parametrize(("body", "pods"), ENOUGH.values(), ids=ENOUGH.keys())
def test_a_manifest_within_the_limits_is_read(body: Mapping[str, Any], pods: int) -> None:
    supposed = manifests.read(json.dumps(body).encode(), "default", "shuntyard")
    assert len(supposed.pods) == pods
