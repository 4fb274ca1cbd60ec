"""The pods of one run: jobs of equal pods, written for each scheduler."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from devcluster.schedulers import Peer
from shared import labels


class Kind(enum.StrEnum):
    """How the pods of a gang declare their gang; the value names the scheduler."""

    PLAIN = "plain"
    """No gang: pods for plain kube-scheduler."""
    IN_TREE = "intree"
    """``spec.schedulingGroup`` and a PodGroup of scheduling.k8s.io/v1alpha2."""
    COSCHEDULING = "coscheduling"
    """A label and a PodGroup of scheduling.x-k8s.io/v1alpha1."""
    GATED = "shuntyard"
    """Our labels, our scheduler, our gate."""
    DIRECT = "shuntyard-direct"
    """Our labels and our scheduler, no gate."""

    @property
    def peer(self) -> Peer | None:
        """The other project's scheduler for this kind, if any."""
        return {Kind.IN_TREE: Peer.IN_TREE, Kind.COSCHEDULING: Peer.COSCHEDULING}.get(self)


@dataclass(frozen=True)
class Shape:
    """``jobs`` gangs of ``pods`` pods."""

    jobs: int
    pods: int

    @classmethod
    def parse(cls, text: str) -> "Shape":
        """Read ``JOBSxPODS``.

        Raises:
            ValueError: The text has another form.
        """
        jobs, _, pods = text.partition("x")
        return cls(int(jobs), int(pods))

    @override
    def __str__(self) -> str:
        return f"{self.jobs}x{self.pods}"

    @property
    def total(self) -> int:
        """Total number of pods."""
        return self.jobs * self.pods

    def groups(self, kind: Kind, prefix: str) -> Iterator[dict[str, Any]]:
        """Yield the PodGroups to create before the pods."""
        if kind.peer is None:
            return
        for job in range(self.jobs):
            yield _group(f"{prefix}-{job}", self.pods, kind)

    def manifests(self, kind: Kind, prefix: str) -> Iterator[dict[str, Any]]:
        """Yield the pods, 1 CPU and 1 GiB each; jobs are named ``prefix-0`` and so on."""
        for job in range(self.jobs):
            for index in range(self.pods):
                yield _pod(f"{prefix}-{job}", index, self.pods, kind)


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


def _group(name: str, size: int, kind: Kind) -> dict[str, Any]:
    if kind is Kind.IN_TREE:
        version = "scheduling.k8s.io/v1alpha2"
        spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": size}}}
    else:
        version, spec = "scheduling.x-k8s.io/v1alpha1", {"minMember": size}
    return {"apiVersion": version, "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}
