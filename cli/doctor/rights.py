"""Check of the extender's rights: those that deploy/base grants, by SubjectAccessReview.

A test compares the list here with deploy/base.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from typing_extensions import override

from cli.doctor.findings import Finding, fault, ok, warning
from cli.doctor.reading import Object
from cli.doctor.site import AGENTS_NAMESPACE, INSTALL, SCHEDULER, Settings, Site, containers
from shared.kube.resources import OPTIONAL

RIGHTS: Final = "rights"
REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
MOST_NAMES: Final = 4
_AT_A_TIME: Final = 8
_FIX: Final = f"{INSTALL}; deploy/base/rbac.yaml says what uses each right"

ACCOUNT: Final = "shuntyard-extender"

_EVERYWHERE: Final = {
    "pods": "get list watch patch create delete",
    "pods/binding": "create",
    "pods/status": "patch",
    "pods/eviction": "create",
    "poddisruptionbudgets.policy": "list watch create patch delete",
    "horizontalpodautoscalers.autoscaling": "list watch",
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
    "topologies.kueue.x-k8s.io": "list watch",
    "deviceclasses.resource.k8s.io": "list watch",
    "resourceslices.resource.k8s.io": "list watch",
    "resourceclaims.resource.k8s.io": "list watch",
    "resourceclaimtemplates.resource.k8s.io": "list watch",
    "devicetaintrules.resource.k8s.io": "list watch",
    "evictions.lifecycle.k8s.io": "list watch",
    "evictions.lifecycle.k8s.io/status": "patch",
}
_UNCHANGED: Final = frozenset(kind.resource for kind in OPTIONAL if kind.kind == "PodGroup")
"""Optional kinds whose objects the extender never writes."""
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
"""Part of Kubernetes' own role system:kube-scheduler: what kube-scheduler cannot run without."""


@dataclass(frozen=True)
class Right:
    """A verb on a resource, e.g. ``jobs.batch/status``.

    Attributes:
        namespace: Empty: in all.
        name: Of one object; empty: of all.
        optional: Without it one feature is off, and the rest works.
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


def check_rights(site: Site) -> Iterator[Finding]:
    """Review each right that the extender's account needs."""
    account = f"system:serviceaccount:{site.namespace}:{ACCOUNT}"
    rights = [*of_extender(site.namespace, site.settings), *of_kinds()]
    if SCHEDULER in containers(site.deployment or {}):
        rights += of_scheduler(site.settings.lease)
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        allowed = list(pool.map(lambda right: may(site, account, right), rights))
    missing = [right for right, has in zip(rights, allowed, strict=True) if not has]
    yield from of_missing(ACCOUNT, missing, len(rights))


def of_missing(account: str, missing: Iterable[Right], total: int) -> Iterator[Finding]:
    """Judge the rights that the account lacks, of so many in total."""
    required = [right for right in missing if not right.optional]
    optional = [right for right in missing if right.optional]
    if required:
        yield fault(RIGHTS, f"the account {account} lacks {_named(required)}", _FIX)
    kinds = sorted({right.resource for right in optional if right.verb == "list"})
    if kinds:
        message = f"the account {account} does not read {', '.join(kinds[:MOST_NAMES])}"
        more = f" and {len(kinds) - MOST_NAMES} more" if len(kinds) > MOST_NAMES else ""
        yield ok(RIGHTS, f"{message}{more}: such jobs must state their gang size (docs/kinds.md)")
    others = [right for right in optional if right.resource not in kinds]
    if others:
        message = f"the account {account} lacks {_named(others)}: features that need it are off"
        yield warning(RIGHTS, message, _FIX)
    if not required and not others:
        yield ok(RIGHTS, f"the account {account} has the {total - len(optional)} rights it needs")


def review(account: str, right: Right) -> Object:
    """Return the SubjectAccessReview of a right of an account."""
    resource, _, below = right.resource.partition("/")
    plural, _, group = resource.partition(".")
    attributes = {
        "verb": right.verb,
        "group": group,
        "resource": plural,
        "subresource": below,
        "namespace": right.namespace,
        "name": right.name,
    }
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": account,
            "groups": _groups(account),
            "resourceAttributes": {key: value for key, value in attributes.items() if value},
        },
    }


def may(site: Site, account: str, right: Right) -> bool:
    """Return True if a service account has a right."""
    answer = site.reader.create(REVIEWS, review(account, right))
    return bool((answer.get("status") or {}).get("allowed"))


def _groups(account: str) -> list[str]:
    namespace = account.split(":")[2]
    accounts = "system:serviceaccounts"
    return ["system:authenticated", accounts, f"{accounts}:{namespace}"]


def _named(rights: list[Right]) -> str:
    named = [str(right) for right in rights[:MOST_NAMES]]
    more = f" and {len(rights) - MOST_NAMES} more" if len(rights) > MOST_NAMES else ""
    return f"{', '.join(named)}{more}"


def of_extender(namespace: str, settings: Settings) -> Iterator[Right]:
    """Yield the rights that the extender needs with these settings."""
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
    namespaces = (
        where.split(",") if isinstance(where, str) else where
    )  # a variable of the environment
    for verb in ("get", "patch"):
        if managed:
            secret = named("secret", "shuntyard-certificates")
            yield Right(verb, "secrets", named("namespace", "shuntyard-system"), secret)
        if managed or settings.of("certificates", "authority", None):
            trusted = named("authority_config_map", "shuntyard-ca")
            for namespace in namespaces:
                yield Right(verb, "configmaps", str(namespace).strip(), trusted)


def _of_signing(settings: Settings) -> Iterator[Right]:
    if secret := settings.of("signing", "secret", ""):
        yield Right("get", "namespaces", "", "kube-system")
        for verb in ("get", "patch"):
            namespace = str(settings.of("signing", "namespace", "shuntyard-system"))
            yield Right(verb, "secrets", namespace, str(secret))


def of_kinds() -> Iterator[Right]:
    """Yield its rights on the kinds of other projects."""
    for kind in OPTIONAL:
        verbs = "list watch" if kind.resource in _UNCHANGED else "list watch patch"
        yield from _all({kind.resource: verbs}, optional=True)


def of_scheduler(lease: tuple[str, str]) -> Iterator[Right]:
    """Yield the rights that kube-scheduler needs, which has the same account."""
    yield from _all(_OF_KUBE_SCHEDULER)
    yield from _holding(lease, "update")


def _holding(lease: tuple[str, str], renew: str) -> Iterator[Right]:
    yield Right("create", "leases.coordination.k8s.io", lease[0])
    yield Right(renew, "leases.coordination.k8s.io", *lease)


def _all(rights: dict[str, str], *, optional: bool = False) -> Iterator[Right]:
    for resource, verbs in rights.items():
        for verb in verbs.split():
            yield Right(verb, resource, optional=optional)
