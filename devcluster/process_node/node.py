"""One node: takes in its pods, gives each a worker, and stays registered."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from devcluster.process_node import admission, node_object, status
from devcluster.process_node.addresses import NodeAddresses
from devcluster.process_node.hosts import Endpoint
from devcluster.process_node.names import Named
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
    """A pod as the reflector carries it: the slim entity and the object as its node needs it."""

    whole: Any = None


def _decode(data: parse.Data) -> NodePod:
    slim = parse.decode_pod(data)
    try:
        whole = msgspec.json.decode(data, type=PodObject)
    except msgspec.DecodeError as error:
        raise OddObjectError(slim.key, str(error)) from error
    return NodePod(**msgspec.structs.asdict(slim), whole=whole)


NODE_PODS: Final = ResourceKind("Pod", "Pod", paths.PODS, _decode, "{}/{}".format)


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
        self._workers: dict[str, PodWorker] = {}
        self._requests: dict[str, tuple[tuple[str, int], ...]] = {}

    def apply(self, delta: Delta) -> None:
        """Take in a change of the node's pods."""
        match delta:
            case Upsert():
                self._take(delta.entity)
            case Delete():
                self._lose(delta.uid)
            case Replace():
                pods = [one for one in delta.entities if isinstance(one, NodePod)]
                for uid in self._workers.keys() - {one.uid for one in pods}:
                    self._lose(uid)
                self._assembly.forget_others({*self._workers, *(one.uid for one in pods)})
                for pod in sorted(pods, key=_arrival):
                    self._take(pod)

    def _take(self, entity: object) -> None:
        if not isinstance(entity, NodePod):
            return
        if entity.uid not in self._workers:
            self._welcome(entity)
        self._workers[entity.uid].update(entity.whole)

    def _lose(self, uid: str) -> None:
        if uid in self._workers:
            self._workers[uid].vanished()

    def _welcome(self, pod: NodePod) -> None:
        verdict = None
        if not pod.finished:
            active = [
                requests
                for uid, requests in self._requests.items()
                if not self._workers[uid].over.is_set()
            ]
            verdict = admission.verdict(pod.shape.requests, active, self._capacity)
            self._requests[pod.uid] = pod.shape.requests
        address = "" if verdict or pod.finished else self._addresses.take()
        worker = self._assembly.worker(pod.whole, verdict, address, self._addresses.give_back)
        self._workers[pod.uid] = worker
        logger.info("pod %s arrives at %s: %s", pod.key, self.name, verdict or "accepted")
        self._tasks.create_task(self._run(pod.uid, worker))

    async def _run(self, uid: str, worker: PodWorker) -> None:
        try:
            await worker.run()
        finally:
            self._workers.pop(uid, None)
            self._requests.pop(uid, None)

    def named(self) -> Iterator[Named]:
        """Return the pods that have an address."""
        for worker in self._workers.values():
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
        workers = list(self._workers.values())
        for worker in workers:
            worker.stop(most_seconds)
        for worker in workers:
            await worker.over.wait()


def _arrival(pod: NodePod) -> tuple[bool, float, str]:
    """Pods that this node had started before come first: they had been admitted."""
    return (pod.phase == "Pending", pod.created_at, pod.key)


def node_directory(directory: Path, name: str) -> Path:
    """Return where a node keeps its files."""
    return directory / name
