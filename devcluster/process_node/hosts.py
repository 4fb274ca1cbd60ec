"""Names of pods behind headless Services, as a hosts file (pure).

There is no cluster DNS. A pod with ``spec.hostname`` and ``spec.subdomain`` is found as
``HOSTNAME.SUBDOMAIN[.NAMESPACE[.svc[.cluster.local]]]`` if, as with cluster DNS, a headless Service
of the subdomain's name selects it; the Service's own name stands for all pods it selects. A pod
counts when it is ready, or at once when the Service publishes addresses that are not ready. Other
Services (with a cluster IP) have no name here: nothing forwards to them.

Source:
    https://github.com/kubernetes/dns/blob/master/docs/specification.md
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

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
