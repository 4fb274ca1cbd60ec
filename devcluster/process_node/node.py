"""One node: starts a worker for each of its pods, and stays registered."""

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from devcluster.process_node import node_object, refusals, status
from devcluster.process_node.addresses import NodeAddresses
from devcluster.process_node.names import Endpoint, Named
from devcluster.process_node.options import NodeOptions
from devcluster.process_node.pod_assembly import Assembly
from devcluster.process_node.pod_worker import PodWorker
from devcluster.process_node.spec import PodObject
from shared.kube import parse, paths
from shared.kube.errors import OddObjectError
from shared.kube.resources import ResourceKind
from shared.model import Delete, Delta, Pod, Replace, Upsert

logger = logging.getLogger(__name__)


class NodePod(Pod, frozen=True, kw_only=True, tag=True):
    """A pod in the reflector's form: the slim entity and the object that its node needs."""

    whole: Any = None


def _decode(data: parse.Data) -> NodePod:
    slim = parse.decode_pod(data)
    try:
        whole = msgspec.json.decode(data, type=PodObject)
    except msgspec.DecodeError as error:
        raise OddObjectError(slim.key, str(error)) from error
    return NodePod(**msgspec.structs.asdict(slim), whole=whole)


NODE_PODS: Final = ResourceKind("Pod", "Pod", paths.PODS, _decode, "{}/{}".format)


@dataclass(slots=True)
class _Resident:
    """A pod whose object or worker still exists."""

    worker: PodWorker
    task: asyncio.Task[None]
    requests: tuple[tuple[str, int], ...]
    object_gone: bool = False

    @property
    def active(self) -> bool:
        """Whether it uses resources of the node."""
        return not self.worker.over.is_set()


class ProcessNode:
    """One node's pods.

    Args:
        options: What the node is.
        addresses: Its pods' addresses.
        assembly: Makes workers.
        tasks: Where workers run.
    """

    def __init__(
        self,
        options: NodeOptions,
        addresses: NodeAddresses,
        assembly: Assembly,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self.name = options.name
        self.host_ip = addresses.host_ip
        self._capacity = node_object.allocatable_base_units(options)
        self._addresses = addresses
        self._assembly = assembly
        self._tasks = tasks
        self._residents: dict[str, _Resident] = {}

    def apply(self, delta: Delta) -> None:
        """Apply a change of the node's pods."""
        match delta:
            case Upsert():
                self._take(delta.entity)
            case Delete():
                self._lose(delta.uid)
            case Replace():
                pods = [one for one in delta.entities if isinstance(one, NodePod)]
                present = {one.uid for one in pods}
                for uid in self._residents.keys() - present:
                    self._lose(uid)
                self._assembly.forget_others({*self._residents, *present})
                for pod in sorted(pods, key=_arrival):
                    self._take(pod)

    def _take(self, entity: object) -> None:
        if not isinstance(entity, NodePod):
            return
        if entity.uid not in self._residents:
            self._welcome(entity)
        resident = self._residents[entity.uid]
        resident.requests = entity.shape.requests
        resident.worker.update(entity.whole)

    def _lose(self, uid: str) -> None:
        resident = self._residents.get(uid)
        if resident is not None:
            resident.object_gone = True
            resident.worker.vanished()
            self._forget(uid)

    def _forget(self, uid: str) -> None:
        """Drop a pod when both its object and its worker are gone.

        Not earlier: a late event of an object whose worker is done must not start another one.
        """
        resident = self._residents.get(uid)
        if resident is not None and resident.object_gone and resident.task.done():
            del self._residents[uid]

    def _welcome(self, pod: NodePod) -> None:
        verdict = None
        if not pod.finished:
            active = [one.requests for one in self._residents.values() if one.active]
            verdict = refusals.verdict(pod.shape.requests, active, self._capacity)
            logger.info("pod %s at %s: %s", pod.key, self.name, verdict or "accepted")
        address = "" if verdict or pod.finished else self._addresses.take()
        worker = self._assembly.worker(pod.whole, verdict, address, self._addresses.give_back)
        task = self._tasks.create_task(worker.run())
        self._residents[pod.uid] = _Resident(worker, task, pod.shape.requests)
        task.add_done_callback(lambda _done: self._forget(pod.uid))

    def named(self) -> Iterator[Named]:
        """Return the pods that have an address."""
        for resident in self._residents.values():
            worker = resident.worker
            record, pod = worker.record, worker.pod
            if record.pod_ip and not record.ended:
                endpoint = Endpoint(
                    namespace=pod.metadata.namespace,
                    name=pod.metadata.name,
                    ip=record.pod_ip,
                    hostname=pod.spec.hostname or "",
                    subdomain=pod.spec.subdomain or "",
                    labels=pod.metadata.labels or {},
                    ready=status.ready(record) and pod.metadata.deletion_timestamp is None,
                )
                hosts_file = self._assembly.place(pod).hosts_file
                yield Named(endpoint, hosts_file, pod.spec.host_aliases or ())

    async def stop(self, most_seconds: float) -> None:
        """End every container, and return when nothing runs any more."""
        residents = list(self._residents.values())
        for one in residents:
            one.worker.stop(most_seconds)
        for one in residents:
            await one.worker.over.wait()
            one.task.cancel()  # only the report to the API server is left


def _arrival(pod: NodePod) -> tuple[bool, float, str]:
    """Pods that this node had started before come first: they had been admitted."""
    return (pod.phase == "Pending", pod.created_at, pod.key)


def node_directory(directory: Path, name: str) -> Path:
    """Return the directory of a node."""
    return directory / name
