"""The rights of the extender's account, as deploy/base grants them; a test compares the two."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from typing_extensions import override

from cli.doctor.site import AGENTS_NAMESPACE, Settings
from shared.kube.resources import OPTIONAL

ACCOUNT: Final = "shuntyard-extender"

_EVERYWHERE: Final = {
    "pods": "get list watch patch create delete",
    "pods/binding": "create",
    "pods/status": "patch",
    "pods/eviction": "create",
    "poddisruptionbudgets.policy": "list",
    "migrations.shuntyard.io": "get list watch create delete",
    "migrations.shuntyard.io/status": "patch",
    "nodes": "list watch",
    "namespaces": "list watch",
    "resourcequotas": "list watch",
    "persistentvolumeclaims": "list watch",
    "persistentvolumes": "list watch",
    "priorityclasses.scheduling.k8s.io": "list watch",
    "jobs.batch": "get list watch patch",
    "statefulsets.apps": "list watch patch",
    "tokenreviews.authentication.k8s.io": "create",
    "subjectaccessreviews.authorization.k8s.io": "create",
    "events.events.k8s.io": "create",
}
_OPTIONAL: Final = {
    "pods/resize": "patch",
    "deviceclasses.resource.k8s.io": "list watch",
}
_UNCHANGED: Final = frozenset(kind.resource for kind in OPTIONAL if kind.kind == "PodGroup")
"""Optional kinds whose objects are never written."""
_OF_KUBE_SCHEDULER: Final = {
    "pods": "list watch",
    "nodes": "list watch",
    "pods/status": "patch",
    "services": "list watch",
    "replicationcontrollers": "list watch",
    "storageclasses.storage.k8s.io": "list watch",
    "csinodes.storage.k8s.io": "list watch",
    "events.events.k8s.io": "create",
}
"""A part of Kubernetes' own role system:kube-scheduler that would be missed at once."""


@dataclass(frozen=True)
class Right:
    """A verb on a resource, e.g. ``jobs.batch/status``.

    Attributes:
        namespace: Where; empty: everywhere.
        name: On which object; empty: on all.
        optional: Without it something is off, and the rest works.
    """

    verb: str
    resource: str
    namespace: str = ""
    name: str = ""
    optional: bool = False

    @override
    def __str__(self) -> str:
        named = f" named `{self.name}`" if self.name else ""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"`{self.verb}` on `{self.resource}`{named}{where}"


def of_the_extender(namespace: str, settings: Settings) -> Iterator[Right]:
    """Yield what the extender itself needs, as its settings are."""
    yield from _all(_EVERYWHERE)
    yield from _all(_OPTIONAL, optional=True)
    yield Right("get", "leases.coordination.k8s.io", *settings.lease)
    if settings.of("lease", "hold", default=False):
        yield from _holding(settings.lease, "patch")
    yield Right("list", "endpointslices.discovery.k8s.io", namespace)
    if service := settings.of("endpoint", "service", ""):
        for verb in ("get", "patch"):
            yield Right(verb, "endpointslices.discovery.k8s.io", namespace, str(service))
    yield from _of_certificates(settings)
    yield from _of_signing(settings)
    for verb in ("get", "patch"):
        history = "shuntyard-admission-history"
        yield Right(verb, "configmaps", namespace, history, optional=True)


def _of_certificates(settings: Settings) -> Iterator[Right]:
    def named(key: str, default: str) -> str:
        return str(settings.of("certificates", key, default))

    managed = settings.of("certificates", "managed", default=False)
    where = settings.of("certificates", "authority_namespaces", AGENTS_NAMESPACE)
    namespaces = where.split(",") if isinstance(where, str) else where  # the environment's: a text
    for verb in ("get", "patch"):
        if managed:
            secret = named("secret", "shuntyard-certificates")
            yield Right(verb, "secrets", named("namespace", "shuntyard-system"), secret)
        if managed or settings.of("certificates", "authority", None):
            trusted = named("authority_config_map", "shuntyard-ca")
            for one in namespaces:
                yield Right(verb, "configmaps", str(one).strip(), trusted)


def _of_signing(settings: Settings) -> Iterator[Right]:
    if secret := settings.of("signing", "secret", ""):
        yield Right("get", "namespaces", "", "kube-system")
        for verb in ("get", "patch"):
            namespace = str(settings.of("signing", "namespace", "shuntyard-system"))
            yield Right(verb, "secrets", namespace, str(secret))


def of_the_kinds() -> Iterator[Right]:
    """Yield what it reads of other projects' kinds."""
    for kind in OPTIONAL:
        verbs = "list watch" if kind.resource in _UNCHANGED else "list watch patch"
        yield from _all({kind.resource: verbs}, optional=True)


def of_the_scheduler(lease: tuple[str, str]) -> Iterator[Right]:
    """Yield what kube-scheduler needs, which has the same account."""
    yield from _all(_OF_KUBE_SCHEDULER)
    yield from _holding(lease, "update")


def _holding(lease: tuple[str, str], renew: str) -> Iterator[Right]:
    yield Right("create", "leases.coordination.k8s.io", lease[0])
    yield Right(renew, "leases.coordination.k8s.io", *lease)


def _all(wanted: dict[str, str], *, optional: bool = False) -> Iterator[Right]:
    for resource, verbs in wanted.items():
        for verb in verbs.split():
            yield Right(verb, resource, optional=optional)
