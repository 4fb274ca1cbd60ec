"""API calls of our programs, recorded by kube-apiserver's audit log and kept as files.

Source:
    kubernetes.io/docs/tasks/debug/debug-cluster/audit: the first rule that matches decides.
"""

import os
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml
from msgspec import Struct

from devcluster.errors import DevclusterError

EXTENDER: Final = "system:serviceaccount:shuntyard-system:shuntyard-extender"
SCHEDULER: Final = "system:kube-scheduler"
AGENTS: Final = "system:serviceaccounts:shuntyard-agents"
"""Group of all accounts of the agents' namespace."""
VIEWERS: Final = "shuntyard:viewers"
"""Group of test users with the Role ``shuntyard-viewer``."""
LOG: Final = "calls.log"
MOST_MEGABYTES: Final = 100
MOST_OLD_FILES: Final = 19


def policy() -> Mapping[str, Any]:
    """Return the audit policy: metadata of calls of these users and groups only."""
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        # A watch that is still open has only begun.
        "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "Metadata", "users": [EXTENDER, SCHEDULER]},
            {"level": "Metadata", "userGroups": [AGENTS, VIEWERS]},
            {"level": "None"},
        ],
    }


def flags(directory: Path) -> Mapping[str, object]:
    """Write the policy into a directory, and return the flags of kube-apiserver.

    Each line is on disk before the call is answered. Too many files are deleted; reading them
    is an error then (`calls.read`).
    """
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "policy.yaml"
    file.write_text(yaml.safe_dump(policy(), sort_keys=False))
    return {
        "audit-policy-file": file,
        "audit-log-path": directory / LOG,
        "audit-log-mode": "blocking-strict",
        "audit-log-maxsize": MOST_MEGABYTES,
        "audit-log-maxbackup": MOST_OLD_FILES,
    }


OUR_NAMESPACES: Final = frozenset({"kube-system", "shuntyard-system", "shuntyard-agents"})
"""Namespaces with rights on single objects by name. Names in others are left out."""
ELSEWHERE: Final = "*"
_MANY: Final = frozenset({"pods", "events"})
"""Resources whose names are left out there, too."""
_ROLE: Final = re.compile(r'of (?:Cluster)?Role "([^"]+)"')


class Call(Struct, frozen=True, order=True):
    """One kind of call.

    Attributes:
        user: Its caller.
        verb: In RBAC's terms, e.g. ``watch``.
        group: API group; empty for the core one.
        resource: With its subresource, e.g. ``pods/binding``; a URL path if it is not a resource.
        namespace: One of ``OUR_NAMESPACES``, ``ELSEWHERE``, or empty: of the cluster, or of all.
        name: The object's, in ``OUR_NAMESPACES``.
        allowed: Result of RBAC.
        role: Role that allowed it.
    """

    user: str
    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    allowed: bool = True
    role: str = ""


class _User(Struct):
    username: str = ""


class _Object(Struct, rename={"group": "apiGroup"}):
    resource: str = ""
    namespace: str = ""
    name: str = ""
    group: str = ""
    subresource: str = ""


class _Event(Struct, rename={"object": "objectRef", "uri": "requestURI"}):
    user: _User
    verb: str
    uri: str
    object: _Object | None = None
    annotations: dict[str, str] = {}


_DECODER: Final = msgspec.json.Decoder(_Event)
_DECISION: Final = "authorization.k8s.io/decision"
_REASON: Final = "authorization.k8s.io/reason"


def read(directory: Path) -> Counter[Call]:
    """Return the calls that the audit log in a directory holds, and how often each was made.

    Raises:
        DevclusterError: The log rotated, and the oldest calls are lost.
    """
    files = sorted(directory.glob(f"{Path(LOG).stem}*{Path(LOG).suffix}"))
    if len(files) > MOST_OLD_FILES:
        raise DevclusterError(f"{directory}: there were more calls than the audit log keeps")
    found: Counter[Call] = Counter()
    for file in files:
        with file.open("rb") as lines:
            found.update(parse(lines))
    return found


def parse(lines: Iterable[bytes]) -> Iterator[Call]:
    """Yield the calls of an audit log's lines; the last one may be incomplete."""
    for line in lines:
        if line.endswith(b"\n"):
            yield _call(_DECODER.decode(line))


def _call(event: _Event) -> Call:
    allowed = event.annotations.get(_DECISION) == "allow"
    role = _ROLE.search(event.annotations.get(_REASON, "")) if allowed else None
    group, resource, namespace, name = _target(event)
    return Call(
        user=event.user.username,
        verb=event.verb,
        group=group,
        resource=resource,
        namespace=namespace,
        name=name,
        allowed=allowed,
        role=role[1] if role else "",
    )


def _target(event: _Event) -> tuple[str, str, str, str]:
    target = event.object
    if target is None or not target.resource:
        return "", event.uri.partition("?")[0], "", ""
    resource = f"{target.resource}/{target.subresource}".rstrip("/")
    if target.namespace not in OUR_NAMESPACES:
        return target.group, resource, ELSEWHERE if target.namespace else "", ""
    name = "" if target.resource in _MANY else target.name
    return target.group, resource, target.namespace, name


VARIABLE: Final = "SHUNTYARD_RECORD_API_CALLS"
"""Directory for the calls of all clusters that are started while it is set."""


class Line(Struct, frozen=True):
    """One kind of call, and how often it was made."""

    call: Call
    count: int


def place(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the directory that `VARIABLE` names."""
    named = environ.get(VARIABLE)
    return Path(named) if named else None


def keep_all(log: Path, environ: Mapping[str, str] = os.environ) -> None:
    """Keep the calls of a cluster's audit log, if it has one and `VARIABLE` is set."""
    directory = place(environ)
    if directory is not None and log.is_dir():
        keep(directory, read(log))


def keep(directory: Path, calls: Counter[Call]) -> None:
    """Write the calls of one cluster."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = [msgspec.json.encode(Line(call, count)) for call, count in sorted(calls.items())]
    file = directory / f"{uuid.uuid4().hex}.jsonl"
    file.write_bytes(b"".join(line + b"\n" for line in lines))


def kept(directory: Path) -> Counter[Call]:
    """Return the calls of all clusters together."""
    found: Counter[Call] = Counter()
    for file in sorted(directory.glob("*.jsonl")):
        for raw in file.read_bytes().splitlines():
            line = msgspec.json.decode(raw, type=Line)
            found[line.call] += line.count
    return found
