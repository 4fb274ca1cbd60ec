"""Keeps every pod's hosts file up to date: the pods behind each headless Service."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from devcluster.process_node.spec import ObjectMeta, Wire
from shared.clock import Clock
from shared.kube import parse
from shared.kube.client import KubeClient
from shared.kube.errors import OddObjectError
from shared.kube.reflector import Reflector
from shared.kube.resources import ResourceKind
from shared.kube.watching import Report
from shared.model import Delete, Delta, Owner, Replace, Uid, Upsert

_DOMAINS: Final = ("svc", "svc.cluster.local")


@dataclass(frozen=True, slots=True)
class HeadlessService:
    """A headless Service with a selector."""

    namespace: str
    name: str
    selector: Mapping[str, str]
    publishes_unready: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A pod that has an address."""

    namespace: str
    name: str
    ip: str
    hostname: str = ""
    subdomain: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    ready: bool = False


def table(
    services: Iterable[HeadlessService], endpoints: Sequence[Endpoint]
) -> tuple[tuple[str, str, str], ...]:
    """Return address, namespace and name relative to that namespace, for every published name."""
    rows = []
    for service in sorted(services, key=lambda one: (one.namespace, one.name)):
        for pod in sorted(endpoints, key=lambda one: (one.namespace, one.name)):
            if _publishes(service, pod):
                if pod.hostname and pod.subdomain == service.name:
                    rows.append((pod.ip, pod.namespace, f"{pod.hostname}.{pod.subdomain}"))
                rows.append((pod.ip, pod.namespace, service.name))
    return tuple(rows)


def _publishes(service: HeadlessService, pod: Endpoint) -> bool:
    return (
        pod.namespace == service.namespace
        and bool(service.selector)
        and service.selector.items() <= dict(pod.labels).items()
        and (pod.ready or service.publishes_unready)
    )


def render(
    me: Endpoint, rows: Iterable[tuple[str, str, str]], aliases: Iterable[Mapping[str, object]] = ()
) -> str:
    """Return the hosts file of pod ``me``: itself, ``hostAliases``, and the published names.

    Short names are those of its own namespace.
    """
    own = me.hostname or me.name
    lines = ["127.0.0.1\tlocalhost", "::1\tlocalhost ip6-localhost ip6-loopback"]
    full = f"{own}.{me.subdomain}.{me.namespace}.svc.cluster.local\t" if me.subdomain else ""
    lines.append(f"{me.ip}\t{full}{own}")
    lines += [_alias(alias) for alias in aliases]
    for ip, namespace, name in rows:
        short = [name] if namespace == me.namespace else []
        long = [f"{name}.{namespace}.{domain}" for domain in _DOMAINS]
        lines.append("\t".join((ip, *short, f"{name}.{namespace}", *long)))
    return "\n".join(lines) + "\n"


def _alias(alias: Mapping[str, object]) -> str:
    names = alias.get("hostnames")
    return "\t".join((str(alias.get("ip", "")), *(names if isinstance(names, list) else ())))


_PATH: Final = "/api/v1/services"


class _ServiceSpec(Wire, frozen=True):
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    selector: dict[str, str] | None = None
    publish_not_ready_addresses: bool | None = None


class _ServiceObject(Wire, frozen=True):
    metadata: ObjectMeta
    spec: _ServiceSpec = _ServiceSpec()


class ServiceEntity(Owner, frozen=True, kw_only=True, tag=True):
    """A Service in the reflector's form; ``headless`` is None for any other Service."""

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
    """A pod of this process: its names, and its hosts file."""

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
        """Return the loop that watches the Services."""
        return Reflector(client, SERVICES, self.apply, clock=clock, rng=rng, report=report)

    def apply(self, delta: Delta) -> None:
        """Apply a change of the Services."""
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
        rows = table(self._services.values(), [pod.endpoint for pod in pods])
        for pod in pods:
            _rewrite(pod.hosts_file, render(pod.endpoint, rows, pod.aliases))


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
