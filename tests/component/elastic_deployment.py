"""A Deployment over the fake API server, with the least helpful controller that the API allows.

Like the real one it copies the Deployment's annotations to its ReplicaSet. Of replicas that are
equal to it, it removes those that we would remove last: only their costs make it remove those that
we named. Its pods run on node ``a`` from the beginning.
"""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from extender.core.records.rescale import Rescale
from shared import labels
from shared.kube import paths
from tests.component.looping import looping
from tests.component.shell import node, pod
from tests.fakes.kube import FakeKube

LOOK_SECONDS = 0.01
NAME = "j"
_APP = {labels.JOB: NAME}
_HASH = {**_APP, labels.POD_TEMPLATE_HASH: "5d4f"}


@dataclass
class Replicas:
    """The cluster around the extender.

    Attributes:
        fake: The server.
        written: Each number of replicas, in order.
        gone: Pods that were removed, in order.
    """

    fake: FakeKube
    written: list[int] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def put(self, count: int) -> None:
        """Put the Deployment with that many replicas, its ReplicaSet and their pods."""
        self.fake.put(paths.NODES, node("a"))
        notes = {labels.WORKERS: f"1..{count}", labels.SHRINK: "terminate"}
        top = self._made(paths.DEPLOYMENTS, NAME, _APP, {"replicas": count}, notes)
        owner = _reference("Deployment", top)
        below = self._made(
            paths.REPLICASETS, f"{NAME}-5d4f", _HASH, {"replicas": count}, {}, [owner]
        )
        controller = _reference("ReplicaSet", below)
        for index in range(count):
            metadata = {
                "name": f"{NAME}-{index}",
                "namespace": "default",
                "labels": _HASH,
                "ownerReferences": [controller],
            }
            made = pod("", metadata=metadata, schedulingGates=[], nodeName="a")
            self.fake.put(paths.PODS, {**made, "status": {"phase": "Running"}})

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with looping(self._control, LOOK_SECONDS, "replicas"):
            yield

    def pods(self) -> dict[str, int]:
        """Deletion cost by name."""
        return {
            p["metadata"]["name"]: int(
                (p["metadata"].get("annotations") or {}).get(labels.POD_DELETION_COST, "0")
            )
            for p in self.fake.objects(paths.PODS)
        }

    def rescale(self) -> Rescale | None:
        """The record of the last change."""
        text = (self._top()["metadata"].get("annotations") or {}).get(labels.RESCALE)
        return None if text is None else msgspec.json.decode(text, type=Rescale)

    def _top(self) -> dict[str, Any]:
        found = self.fake.object(paths.DEPLOYMENTS, NAME, "default")
        assert found is not None
        return found

    def _control(self) -> None:
        wanted = int(self._top()["spec"]["replicas"])
        if [wanted] != self.written[-1:]:
            self.written.append(wanted)
        self._copy_annotations()
        costs = self.pods()
        contrary = sorted(sorted(costs, reverse=True), key=lambda name: costs[name])
        for name in contrary[: len(costs) - wanted]:
            self.gone.append(name)
            self.fake.remove(paths.PODS, name, "default")

    def _copy_annotations(self) -> None:
        notes = self._top()["metadata"].get("annotations") or {}
        below = self.fake.object(paths.REPLICASETS, f"{NAME}-5d4f", "default")
        assert below is not None
        if below["metadata"].get("annotations") != notes:
            metadata = {**below["metadata"], "annotations": dict(notes)}
            self.fake.put(paths.REPLICASETS, {**below, "metadata": metadata})

    def _made(
        self,
        collection: str,
        name: str,
        marks: dict[str, str],
        spec: dict[str, Any],
        notes: dict[str, str],
        owners: list[dict[str, Any]] | None = None,
    ) -> dict[str, Any]:
        metadata = {
            "name": name,
            "namespace": "default",
            "labels": marks,
            "annotations": notes,
            "ownerReferences": owners or [],
        }
        self.fake.put(collection, {"metadata": metadata, "spec": spec})
        found = self.fake.object(collection, name, "default")
        assert found is not None
        return found


def _reference(kind: str, made: dict[str, Any]) -> dict[str, Any]:
    meta = made["metadata"]
    named = {"apiVersion": "apps/v1", "kind": kind, "name": meta["name"], "uid": meta["uid"]}
    return {**named, "controller": True}
