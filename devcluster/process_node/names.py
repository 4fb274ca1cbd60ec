"""Keeps every pod's hosts file current: who is behind which headless Service."""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from devcluster.process_node import hosts
from devcluster.process_node.hosts import Endpoint, HeadlessService
from devcluster.process_node.spec import ObjectMeta, Wire
from shared.clock import Clock
from shared.kube import parse
from shared.kube.client import KubeClient
from shared.kube.errors import OddObjectError
from shared.kube.reflector import Reflector
from shared.kube.resources import ResourceKind
from shared.kube.watching import Report
from shared.model import Delete, Delta, Owner, Replace, Uid, Upsert

_PATH: Final = "/api/v1/services"


class _ServiceSpec(Wire, frozen=True):
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    selector: dict[str, str] | None = None
    publish_not_ready_addresses: bool | None = None


class _ServiceObject(Wire, frozen=True):
    metadata: ObjectMeta
    spec: _ServiceSpec = _ServiceSpec()


class ServiceEntity(Owner, frozen=True, kw_only=True, tag=True):
    """A Service as the reflector carries it; ``headless`` is None for any other Service."""

    headless: Any = None


def _decode(data: parse.Data) -> ServiceEntity:
    try:
        found = msgspec.json.decode(data, type=_ServiceObject)
    except msgspec.DecodeError as error:
        raise OddObjectError("?", str(error)) from error
    meta, spec = found.metadata, found.spec
    headless = HeadlessService(
        meta.namespace, meta.name, spec.selector or {}, bool(spec.publish_not_ready_addresses)
    )
    return ServiceEntity(
        api_version="v1",
        kind="Service",
        namespace=meta.namespace,
        name=meta.name,
        uid=Uid(meta.uid),
        headless=headless if spec.cluster_ip == "None" else None,
    )


SERVICES: Final = ResourceKind("Service", "Service", _PATH, _decode, "Service/{}/{}".format)


@dataclass(frozen=True, slots=True)
class Named:
    """A pod of this process: how it is found, and where it finds others."""

    endpoint: Endpoint
    hosts_file: Path
    aliases: tuple[Mapping[str, Any], ...]


class Names:
    """The hosts files of all pods of this process.

    Args:
        pods: Returns the pods that have an address.
    """

    def __init__(self, pods: Callable[[], Iterable[Named]]) -> None:
        self._pods = pods
        self._services: dict[str, HeadlessService] = {}

    def reflector(
        self, client: KubeClient, clock: Clock, rng: random.Random, report: Report
    ) -> Reflector:
        """Return the loop that follows the Services."""
        return Reflector(client, SERVICES, self.apply, clock=clock, rng=rng, report=report)

    def apply(self, delta: Delta) -> None:
        """Take in a change of the Services."""
        match delta:
            case Replace():
                self._services = {}
                for entity in delta.entities:
                    self._keep(entity)
            case Upsert():
                self._keep(delta.entity)
            case Delete():
                self._services.pop(delta.key, None)
        self.refresh()

    def _keep(self, entity: object) -> None:
        if isinstance(entity, ServiceEntity):
            self._services.pop(entity.key, None)
            if entity.headless is not None:
                self._services[entity.key] = entity.headless

    def refresh(self) -> None:
        """Rewrite each hosts file whose content has changed."""
        pods = list(self._pods())
        rows = hosts.table(self._services.values(), [pod.endpoint for pod in pods])
        for pod in pods:
            _rewrite(pod.hosts_file, hosts.render(pod.endpoint, rows, pod.aliases))


def _rewrite(path: Path, text: str) -> None:
    """Write in place: containers have this very file mounted.

    Lines are overwritten before the rest is cut off, so that a reader never sees an empty file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode()
    with path.open("r+b" if path.exists() else "w+b") as file:
        if file.read() != content:
            file.seek(0)
            file.write(content)
            file.truncate()
