"""Which pods take part in CPU weights, and what each has of its node.

A pod takes part if it is ours, runs, is Burstable (requests, and not all of them equal to limits)
and has one container whose request can be changed without a restart: its only one, or the one that
the metrics annotation names. A pod that carries our note takes part until that is gone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from extender.adapters import registry
from extender.adapters.base import Above
from extender.engine.above import above
from extender.engine.snapshot import Snapshot
from shared import labels, places, pod_cpu
from shared.errors import InputError
from shared.model import ContainerCpu, NodeName, Pod, Uid

BURSTABLE: Final = "Burstable"


@dataclass(frozen=True)
class Weighed:
    """A pod that takes part.

    Attributes:
        uid: Of the pod.
        pod: The pod.
        cpu: Its container, as it is now.
        given_milli: What its owner asked for.
        noted: That is written down on the pod; else the request is as given.
    """

    uid: Uid
    pod: Pod
    cpu: ContainerCpu
    given_milli: int
    noted: bool

    @property
    def now_milli(self) -> int:
        """The request as it is now."""
        return self.cpu.request_milli

    @property
    def held_milli(self) -> int:
        """What counts on the node: also what was asked and not granted, or not yet taken away."""
        return max(self.now_milli, self.given_milli + self.pod.borrowed_milli)

    @property
    def most_milli(self) -> int | None:
        """The highest request that leaves the QoS class as it is; None: there is no limit.

        Below the limit, unless it was at the limit from the start, which did no harm.
        """
        limit = self.cpu.limit_milli
        if limit is None or limit == self.given_milli:
            return limit
        return max(1, limit - 1)


def weighed(snapshot: Snapshot) -> Mapping[NodeName, tuple[Weighed, ...]]:
    """Return who takes part, by node, each in order of uid."""
    found: dict[NodeName, list[Weighed]] = {}
    for pods in snapshot.jobs.values():
        for pod in pods:
            node = snapshot.bound.get(pod.uid)
            one = None if node is None else _of(pod, snapshot)
            if node is not None and one is not None:
                found.setdefault(node, []).append(one)
    by_uid = {node: sorted(here, key=attrgetter("uid")) for node, here in found.items()}
    return {node: tuple(here) for node, here in sorted(by_uid.items())}


def is_noted(pod: Pod) -> bool:
    """Say whether a pod carries our note, and is not over."""
    return labels.CPU_GIVEN in pod.annotations and not (pod.finished or pod.deleting)


def is_restorable(pod: Pod, snapshot: Snapshot) -> bool:
    """Say whether a pod's note leads to anything; its owner may have written it, as he likes."""
    bound = is_noted(pod) and pod.uid in snapshot.bound
    return bound and _of(pod, snapshot) is not None


def _of(pod: Pod, snapshot: Snapshot) -> Weighed | None:
    if pod.finished or pod.qos != BURSTABLE:
        return None
    if labels.CPU_GIVEN in pod.annotations:
        given = pod_cpu.given(pod.annotations)
        own = [cpu for cpu in pod.cpus if given is not None and cpu.name == given.container]
        return Weighed(pod.uid, pod, own[0], given.milli, noted=True) if own and given else None
    if pod.phase != "Running" or pod.deleting:
        return None
    cpu = _container(pod, above(snapshot, pod))
    if cpu is None or cpu.restarts or cpu.request_milli <= 0:
        return None
    return Weighed(pod.uid, pod, cpu, cpu.request_milli, noted=False)


def _container(pod: Pod, over: Above) -> ContainerCpu | None:
    if len(pod.cpus) == 1:
        return pod.cpus[0]
    text = registry.annotation(pod, over, labels.METRICS)
    job = registry.job_key(pod).split("/", 2)[2]
    try:
        name = places.metrics_place(text, places.Whose(pod.namespace, job, pod.name, pod.uid))
    except InputError:
        return None
    return next((cpu for cpu in pod.cpus if cpu.name == name.container), None)
