"""The rights of our accounts, one by one, as the roles of deploy/base say them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from devcluster.rights import audit
from devcluster.rights.calls import Call

EXTENDER: Final = "shuntyard-extender"
"""The account that both programs of a replica share. Here kube-scheduler is a user of its own."""
VIEWER: Final = "shuntyard-viewer"
"""A role that people are given; the base binds it to nobody."""

Manifest = Mapping[str, Any]
_ROLES: Final = frozenset({"Role", "ClusterRole"})
_BINDINGS: Final = frozenset({"RoleBinding", "ClusterRoleBinding"})


@dataclass(frozen=True, order=True)
class Right:
    """One verb of one resource.

    Attributes:
        account: Who has it.
        group: API group; empty for the core one.
        resource: With its subresource.
        verb: What may be done.
        namespace: Where; empty: everywhere.
        name: The only object; empty: any.
        role: What says so.
    """

    account: str
    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""
    role: str = field(default="", compare=False)

    def covers(self, call: Call) -> bool:
        """Say whether this right allows a call."""
        return (
            (self.group, self.resource, self.verb) == (call.group, call.resource, call.verb)
            and self.namespace in {"", call.namespace}
            and self.name in {"", call.name}
        )

    def text(self) -> str:
        """Return it for people."""
        group = f".{self.group}" if self.group else ""
        name = f" {self.name!r}" if self.name else ""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{group}{name}{where} ({self.role})"


@dataclass(frozen=True)
class Granted:
    """What deploy/base gives.

    Attributes:
        rights: Those that our own roles say.
        borrowed: Names of Kubernetes' own roles that our accounts are bound to.
    """

    rights: frozenset[Right]
    borrowed: frozenset[str]


def documents(directory: Path) -> Iterator[Manifest]:
    """Yield the roles and bindings of all files of a directory."""
    for file in sorted(directory.glob("*.yaml")):
        for one in yaml.safe_load_all(file.read_text()):
            if one and one.get("kind") in _ROLES | _BINDINGS:
                yield one


def granted(manifests: Iterable[Manifest]) -> Granted:
    """Return the rights that roles and their bindings give."""
    found = list(manifests)
    roles = {_key(one): one for one in found if one["kind"] in _ROLES}
    rights = {right for key, role in roles.items() for right in _of_viewers(key, role)}
    borrowed = set()
    for binding in (one for one in found if one["kind"] in _BINDINGS):
        reference, namespace = binding["roleRef"], binding["metadata"].get("namespace", "")
        place = namespace if reference["kind"] == "Role" else ""
        role = roles.get((reference["kind"], place, reference["name"]))
        if role is None:
            borrowed.add(str(reference["name"]))
            continue
        for subject in binding["subjects"]:
            rights |= set(_rights(str(subject["name"]), role, namespace))
    return Granted(frozenset(rights), frozenset(borrowed))


def accounts(user: str) -> str:
    """Return whose rights a recorded user has."""
    if user in {audit.EXTENDER, audit.SCHEDULER}:
        return EXTENDER
    prefix = "system:serviceaccount:"
    return user.rpartition(":")[2] if user.startswith(prefix) else VIEWER


def _key(role: Manifest) -> tuple[str, str, str]:
    metadata = role["metadata"]
    return role["kind"], metadata.get("namespace", ""), metadata["name"]


def _of_viewers(key: tuple[str, str, str], role: Manifest) -> Iterator[Right]:
    kind, namespace, name = key
    if (kind, name) == ("Role", VIEWER):
        yield from _rights(VIEWER, role, namespace)


def _rights(account: str, role: Manifest, namespace: str) -> Iterator[Right]:
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames") or ("",):
                        yield Right(
                            account,
                            group,
                            resource,
                            verb,
                            namespace,
                            name,
                            role["metadata"]["name"],
                        )
