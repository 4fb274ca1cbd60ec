"""The rights that the roles of deploy/ grant our accounts, compared with recorded calls."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from msgspec.structs import replace

from devcluster.credentials.bootstrap import DEPLOY
from devcluster.rights import calls
from devcluster.rights.calls import Call

EXTENDER: Final = "shuntyard-extender"
"""The account that both programs of a replica share; here kube-scheduler has its own user."""
VIEWER: Final = "shuntyard-viewer"
"""A role for users; the base has no binding for it."""

Manifest = Mapping[str, Any]
_ROLES: Final = frozenset({"Role", "ClusterRole"})
_BINDINGS: Final = frozenset({"RoleBinding", "ClusterRoleBinding"})


@dataclass(frozen=True, order=True)
class Right:
    """One verb of one resource.

    Attributes:
        account: Its holder.
        group: API group; empty for the core one.
        resource: With its subresource.
        verb: In RBAC's terms.
        namespace: Empty: all.
        name: Of the only object; empty: all.
        role: Role that grants it.
    """

    account: str
    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""
    role: str = field(default="", compare=False)

    def covers(self, call: Call) -> bool:
        """Return True if this right allows a call."""
        return (
            (self.group, self.resource, self.verb) == (call.group, call.resource, call.verb)
            and self.namespace in {"", call.namespace}
            and self.name in {"", call.name}
        )

    def text(self) -> str:
        """Return it as text."""
        group = f".{self.group}" if self.group else ""
        name = f" {self.name!r}" if self.name else ""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{group}{name}{where} ({self.role})"


@dataclass(frozen=True)
class Granted:
    """The rights of deploy/base.

    Attributes:
        rights: Those of our own roles.
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
    """Return the rights that roles and their bindings grant."""
    objects = list(manifests)
    roles = {_key(one): one for one in objects if one["kind"] in _ROLES}
    rights = {right for key, role in roles.items() for right in _of_viewers(key, role)}
    borrowed = set()
    for binding in (one for one in objects if one["kind"] in _BINDINGS):
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
    """Return the account whose rights a recorded user has."""
    if user in {calls.EXTENDER, calls.SCHEDULER}:
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


PUBLIC: Final = frozenset({"system:basic-user", "system:discovery", "system:public-info-viewer"})
"""Kubernetes' own roles of all authenticated users."""
SCHEDULERS: Final = frozenset({"system:kube-scheduler", "system:volume-scheduler", "coscheduling"})
"""Kubernetes' own roles of its scheduler, and that of a peer with the same user name."""


@dataclass(frozen=True)
class Verdict:
    """The differences between calls and rights.

    Attributes:
        missing: Calls that were always refused and that no right of ours allows. An API server that
            has just started may refuse a call until it has read the roles. A watch that is refused
            then is followed by a list, so a list counts as allowed where a watch was.
        foreign: Calls that a role allowed which is neither ours nor public.
        unused: Rights without a call.
        used: Number of calls of each other right.
    """

    missing: tuple[Call, ...]
    foreign: tuple[Call, ...]
    unused: tuple[Right, ...]
    used: Mapping[Right, int]

    @property
    def exact(self) -> bool:
        """Whether nothing is missing, and all rights were used."""
        return not (self.missing or self.foreign or self.unused)


def compare(calls: Counter[Call], given: Granted) -> Verdict:
    """Compare calls with rights."""
    used: Counter[Right] = Counter()
    missing, foreign = [], []
    once = {replace(call, role="") for call in calls if call.allowed}
    once |= {replace(call, verb="list") for call in once if call.verb == "watch"}
    known = given.borrowed | PUBLIC | SCHEDULERS
    for call, count in sorted(calls.items()):
        covering = list(_covering(call, given))
        if call.allowed:
            used.update(dict.fromkeys(covering, count))
            if not covering and call.role not in known:
                foreign.append(call)
        elif not covering and replace(call, allowed=True, role="") not in once:
            missing.append(call)
    unused = tuple(sorted(given.rights - used.keys()))
    return Verdict(tuple(missing), tuple(foreign), unused, used)


def shipped() -> Granted:
    """Return the rights of deploy/: base, gate, and the overlay of an attached extender."""
    folders = (DEPLOY / "base", DEPLOY / "components" / "gate", DEPLOY / "overlays" / "attached")
    return granted(one for folder in folders for one in documents(folder))


def _covering(call: Call, given: Granted) -> Iterator[Right]:
    account = accounts(call.user)
    return (right for right in given.rights if right.account == account and right.covers(call))


def refusals(verdict: Verdict) -> Iterator[str]:
    """Yield the refused and foreign calls."""
    for call in verdict.missing:
        yield f"missing: {_shown(call)}"
    for call in verdict.foreign:
        yield f"foreign: {_shown(call)}, allowed by {call.role or 'an unnamed role'}"


def report(verdict: Verdict) -> Iterator[str]:
    """Yield the lines of the report."""
    yield from refusals(verdict)
    for right in verdict.unused:
        yield f"unused: {right.account} may {right.text()}"
    yield f"{len(verdict.used)} rights used, {len(verdict.unused)} unused"


def _shown(call: Call) -> str:
    where = f" in {call.namespace}" if call.namespace else ""
    name = f" {call.name!r}" if call.name else ""
    group = f".{call.group}" if call.group else ""
    return f"{call.user} calls {call.verb} {call.resource}{group}{name}{where}"
