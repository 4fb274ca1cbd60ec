"""The pods of one run: jobs of equal pods, written for each scheduler."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from devcluster.components.schedulers import Peer
from shared import labels

NAMESPACE: Final = "default"
CLAIM: Final = "training-data"
"""The claim of ``Members.DATA``, bound to a volume that all nodes can mount."""
VOLUME: Final = f"of-{CLAIM}"
GPU: Final = "nvidia.com/gpu"
WORKERS_PER_SERVER: Final = 4
_AMOUNT: Final = {"storage": "1Gi"}
_FOR_ALL: Final = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}


class Kind(enum.StrEnum):
    """How the pods of a gang declare their gang; the value names the scheduler."""

    PLAIN = "plain"
    """No gang: pods for plain kube-scheduler."""
    IN_TREE = "intree"
    """``spec.schedulingGroup`` and a PodGroup of scheduling.k8s.io."""
    COSCHEDULING = "coscheduling"
    """A label and a PodGroup of scheduling.x-k8s.io/v1alpha1."""
    GATED = "shuntyard"
    """Our labels, our scheduler, our gate."""
    DIRECT = "shuntyard-direct"
    """Our labels and our scheduler, no gate."""
    POLICY = "shuntyard-policy"
    """Likewise, where the admission policy adds the gate while jobs lack room."""

    @property
    def peer(self) -> Peer | None:
        """The other project's scheduler for this kind, if any."""
        return {Kind.IN_TREE: Peer.IN_TREE, Kind.COSCHEDULING: Peer.COSCHEDULING}.get(self)


class Members(enum.StrEnum):
    """What the pods of a gang have beside their requests; the value follows the shape."""

    BARE = ""
    DATA = "data"
    """A GPU, one claim for all, a ConfigMap and a token, as training jobs have."""
    SERVERS = "servers"
    """One of five is a parameter server."""


@dataclass(frozen=True)
class Shape:
    """``jobs`` gangs of ``pods`` pods."""

    jobs: int
    pods: int
    members: Members = Members.BARE

    @classmethod
    def parse(cls, text: str) -> "Shape":
        """Read ``JOBSxPODS``, or ``JOBSxPODS:MEMBERS``.

        Raises:
            ValueError: The text has another form.
        """
        numbers, _, members = text.partition(":")
        jobs, _, pods = numbers.partition("x")
        return cls(int(jobs), int(pods), Members(members))

    @override
    def __str__(self) -> str:
        return f"{self.jobs}x{self.pods}" + (f":{self.members}" if self.members else "")

    @property
    def total(self) -> int:
        """Total number of pods."""
        return self.jobs * self.pods

    def groups(self, kind: Kind, prefix: str, api: str) -> Iterator[dict[str, Any]]:
        """Yield the PodGroups to create before the pods, of an API group and version."""
        if kind.peer is None:
            return
        for job in range(self.jobs):
            yield {
                "apiVersion": api,
                "kind": "PodGroup",
                "metadata": {"name": f"{prefix}-{job}"},
                "spec": _group(self.pods, kind),
            }

    def manifests(self, kind: Kind, prefix: str) -> Iterator[dict[str, Any]]:
        """Yield the pods, 1 CPU and 1 GiB each; jobs are named ``prefix-0`` and so on."""
        for job in range(self.jobs):
            for index in range(self.pods):
                pod = _pod(f"{prefix}-{job}", index, self.pods, kind)
                if self.members is Members.DATA:
                    _add_data(pod["spec"])
                elif self.members is Members.SERVERS:
                    server = index % (WORKERS_PER_SERVER + 1) == 0
                    pod["metadata"]["labels"][labels.ROLE] = "ps" if server else "worker"
                yield pod


def volume_and_claim() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the volume and the claim of ``Members.DATA``, bound to each other.

    They are as the controller manager leaves them, which does not run in a measurement.
    """
    bound = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": VOLUME},
        "spec": {
            "capacity": _AMOUNT,
            "hostPath": {"path": "/nowhere"},
            "claimRef": {"namespace": NAMESPACE, "name": CLAIM},
            **_FOR_ALL,
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": CLAIM, **bound},
        "spec": {"resources": {"requests": _AMOUNT}, "volumeName": VOLUME, **_FOR_ALL},
    }
    return volume, claim


def _pod(job: str, index: int, size: int, kind: Kind) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "none",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
    }
    metadata: dict[str, Any] = {"name": f"{job}-{index}", "labels": {labels.JOB: job}}
    spec: dict[str, Any] = {"containers": [container]}
    if kind is Kind.IN_TREE:
        spec["schedulingGroup"] = {"podGroupName": job}
    elif kind is Kind.COSCHEDULING:
        metadata["labels"]["scheduling.x-k8s.io/pod-group"] = job
    elif kind is not Kind.PLAIN:
        metadata["annotations"] = {labels.MIN_AVAILABLE: str(size)}
        spec["schedulerName"] = labels.SCHEDULER_NAME
    if kind is Kind.GATED:
        spec["schedulingGates"] = [{"name": labels.GATE}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _add_data(spec: dict[str, Any]) -> None:
    token = {"serviceAccountToken": {"path": "token", "audience": "storage"}}
    spec["volumes"] = [
        {"name": "data", "persistentVolumeClaim": {"claimName": CLAIM}},
        {"name": "settings", "configMap": {"name": "training-settings"}},
        {"name": "token", "projected": {"sources": [token]}},
    ]
    (container,) = spec["containers"]
    container["resources"]["limits"] = {GPU: "1"}


def _group(size: int, kind: Kind) -> dict[str, Any]:
    if kind is Kind.IN_TREE:
        return {"schedulingPolicy": {"gang": {"minCount": size}}}
    return {"minMember": size}
