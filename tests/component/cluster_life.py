"""The Job controller and the kubelets of a cluster, as far as faults need them."""

import contextlib
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from shared.kube import parse, paths
from tests.component.looping import looping
from tests.component.shell import pod
from tests.fakes.kube import FakeKube

LOOK_SECONDS = 0.01


@dataclass
class ClusterLife:
    """Pods of Jobs are made and made again; pods on nodes run, are refused, and end.

    * Job controller: as many live pods as the Job's parallelism.
    * Kubelet: a bound pod runs if the pods that ran there before it leave it room, otherwise it
      fails with ``OutOfcpu``; a pod that is being deleted goes.
    * Pod garbage collection: a pod on a node that does not exist goes.
    """

    fake: FakeKube
    _serial: "itertools.count[int]" = field(default_factory=itertools.count)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with looping(self._live, LOOK_SECONDS, "cluster life"):
            yield

    def _live(self) -> None:
        self._make_pods()
        self._run_pods()

    def _make_pods(self) -> None:
        for job in self.fake.objects(paths.JOBS):
            alive = sum(_is_alive(p) and is_owned(p, job) for p in self.fake.objects(paths.PODS))
            for _ in range(job["spec"]["parallelism"] - alive):
                self._make_pod(job)

    def _make_pod(self, job: dict[str, Any]) -> None:
        name = job["metadata"]["name"]
        manifest = pod(f"{name}-{next(self._serial)}")
        owner = {"apiVersion": "batch/v1", "kind": "Job", "controller": True}
        ours = {"name": name, "uid": job["metadata"]["uid"]}
        manifest["metadata"]["ownerReferences"] = [owner | ours]
        self.fake.put(paths.PODS, manifest)

    def _run_pods(self) -> None:
        nodes = {n["metadata"]["name"]: n for n in self.fake.objects(paths.NODES)}
        for found in self.fake.objects(paths.PODS):
            meta, place = found["metadata"], found["spec"].get("nodeName")
            if meta.get("deletionTimestamp") or (place and place not in nodes):
                self.fake.remove(paths.PODS, meta["name"], meta["namespace"])
            elif place and found["status"]["phase"] == "Pending":
                self._admit(found, nodes[place])

    def _admit(self, found: dict[str, Any], node: dict[str, Any]) -> None:
        here = [p for p in self.fake.objects(paths.PODS) if _runs_on(p, node["metadata"]["name"])]
        allocatable = parse.decode_node(msgspec.json.encode(node)).allocatable["cpu"]
        fits = sum(map(_cpu, here)) + _cpu(found) <= allocatable
        status = {"phase": "Running"} if fits else {"phase": "Failed", "reason": "OutOfcpu"}
        self.fake.put(paths.PODS, {**found, "status": {**found["status"], **status}})


def running_on(fake: FakeKube, job: str) -> dict[str, str]:
    """Return the node of each pod of the Job that a kubelet runs, by name."""
    pods = [p for p in fake.objects(paths.PODS) if p["status"]["phase"] == "Running"]
    names = {p["metadata"]["name"]: p["spec"].get("nodeName", "") for p in pods}
    return {name: node for name, node in names.items() if name.startswith(f"{job}-")}


def is_owned(found: dict[str, Any], job: dict[str, Any]) -> bool:
    owners = found["metadata"].get("ownerReferences") or ()
    return any(owner["uid"] == job["metadata"]["uid"] for owner in owners)


def _is_alive(found: dict[str, Any]) -> bool:
    finished = found["status"]["phase"] in {"Succeeded", "Failed"}
    return not finished and "deletionTimestamp" not in found["metadata"]


def _runs_on(found: dict[str, Any], node: str) -> bool:
    return bool(found["spec"].get("nodeName") == node and found["status"]["phase"] == "Running")


def _cpu(found: dict[str, Any]) -> int:
    return dict(parse.decode_pod(msgspec.json.encode(found)).shape.requests).get("cpu", 0)
