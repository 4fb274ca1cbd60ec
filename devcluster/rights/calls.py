"""Lines of kube-apiserver's audit log as calls: who, which verb, of what, and was it allowed."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from devcluster.errors import DevclusterError
from devcluster.rights.audit import LOG, MOST_OLD_FILES

OUR_NAMESPACES: Final = frozenset({"kube-system", "shuntyard-system", "shuntyard-agents"})
"""Where a right may be for one object by its name. Elsewhere names are left out: there are many."""
ELSEWHERE: Final = "*"

_MANY: Final = frozenset({"pods", "events"})
"""Of these names are left out there, too."""
_ROLE: Final = re.compile(r'of (?:Cluster)?Role "([^"]+)"')


class Call(Struct, frozen=True, order=True):
    """One kind of call.

    Attributes:
        user: Who made it.
        verb: As RBAC has it, e.g. ``watch``.
        group: API group; empty for the core one.
        resource: With its subresource, e.g. ``pods/binding``; a URL path if it is no resource.
        namespace: One of ``OUR_NAMESPACES``, ``ELSEWHERE``, or empty: of the cluster, or of all.
        name: The object's, in ``OUR_NAMESPACES``.
        allowed: What RBAC said.
        role: Which role allowed it.
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
        DevclusterError: So much was written that the oldest calls are gone.
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
    """Yield the calls of an audit log's lines; the last one may be cut short."""
    for line in lines:
        if line.endswith(b"\n"):
            yield _call(_DECODER.decode(line))


def _call(event: _Event) -> Call:
    allowed = event.annotations.get(_DECISION) == "allow"
    role = _ROLE.search(event.annotations.get(_REASON, "")) if allowed else None
    group, resource, namespace, name = _asked(event)
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


def _asked(event: _Event) -> tuple[str, str, str, str]:
    asked = event.object
    if asked is None or not asked.resource:
        return "", event.uri.partition("?")[0], "", ""
    resource = f"{asked.resource}/{asked.subresource}".rstrip("/")
    if asked.namespace not in OUR_NAMESPACES:
        return asked.group, resource, ELSEWHERE if asked.namespace else "", ""
    name = "" if asked.resource in _MANY else asked.name
    return asked.group, resource, asked.namespace, name
