"""Answers without what the caller may not see (pure).

Entries of other namespaces go; where an answer about a job of his names one of somebody else's, its
name goes and the sentence stays. Places in the queue stay as they are.
"""

import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from extender.core.kinds import registry
from shared import api
from shared.ledgers import RescalesResponse
from shared.tenancy import NamespacesResponse

HIDDEN: Final = "other-namespace/job/hidden"
"""What stands for a job, or a pod, that the caller may not see."""

_NAMED: Final = re.compile(r"(?<![\w./-])([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)((?:/[\w.-]*\w){1,2})")
"""``namespace/name`` or ``namespace/kind/name`` in a text."""
_KINDS: Final = frozenset(kind.kind for kind in registry.KINDS.kinds)

_Body = TypeVar("_Body", bound=Struct)
_Sees = Callable[[str], bool]


def listed(body: api.Response) -> frozenset[str]:
    """Return the namespaces whose jobs an answer lists, or is about."""
    about = (body, getattr(body, "entry", None))
    found = frozenset(_namespace(one) for one in (*about, *_entries(body)))
    return found - {""}


def named(body: api.Response, known: AbstractSet[str]) -> frozenset[str]:
    """Return those of the ``known`` namespaces that an answer names in its texts."""
    texts = _texts(msgspec.to_builtins(body))
    found = frozenset(name[1] for text in texts for name in _NAMED.finditer(text))
    return found & known


def without_names(body: api.Response, seen: AbstractSet[str], known: AbstractSet[str]) -> Any:
    """Return an answer without names of what is not in namespaces that are ``seen``, for JSON.

    ``namespace/name`` is a name if the namespace is ``known``; what is written as a job's key is
    one even so: its namespace may be gone, or not heard of yet, and still be somebody's secret.
    """

    def renamed(found: re.Match[str]) -> str:
        namespace, rest = found[1], found[2]
        is_name = namespace in known or _is_key(rest)
        return HIDDEN if is_name and namespace not in seen else found[0]

    return _mapped(msgspec.to_builtins(body), lambda text: _NAMED.sub(renamed, text))


def _is_key(rest: str) -> bool:
    """Say whether ``/kind/name`` is what follows the namespace in a job's key."""
    _, kind, *name = rest.split("/")
    return bool(name) and kind in _KINDS


def of(body: _Body, seen: AbstractSet[str]) -> _Body:
    """Return an answer with the entries of namespaces that are ``seen``."""
    return _pruned(body, seen.__contains__)


def _pruned(body: _Body, sees: _Sees) -> _Body:
    match body:
        case api.QueueResponse() | api.JobsResponse() | NamespacesResponse():
            return replace(body, entries=_kept(body.entries, sees))
        case api.MigrationsResponse() | RescalesResponse():
            kept = _kept(body.entries, sees)
            return replace(body, entries=kept, declined=_kept(body.declined, sees))
        case api.ExplainResponse():
            return replace(body, ahead=_kept(body.ahead, sees))
        case api.WhatIfResponse(obstacles=obstacles):
            about = None if obstacles is None else _pruned(obstacles, sees)
            return replace(body, shifts=_kept(body.shifts, sees), obstacles=about)
        case _:
            return body


def _entries(body: Struct) -> Iterator[Any]:
    """Yield what ``_pruned`` looks at."""
    for name in ("entries", "declined", "ahead", "shifts"):
        found = getattr(body, name, None)
        if isinstance(found, tuple):  # what was declined of one job is about that job
            yield from (one for one in found if _namespace(one))
    obstacles = getattr(body, "obstacles", None)
    if obstacles is not None:
        yield from _entries(obstacles)


def _kept(entries: tuple[Any, ...], sees: _Sees) -> tuple[Any, ...]:
    return tuple(one for one in entries if sees(_namespace(one)))


def _namespace(entry: Any) -> str:
    """Return the namespace of an entry; "" of one that is of none, such as a node."""
    found = getattr(entry, "namespace", None)
    return str(found if found is not None else getattr(entry, "job", "").partition("/")[0])


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _texts(inner)
        case list() | tuple():
            for inner in value:
                yield from _texts(inner)
        case _:
            return


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case dict():
            return {key: _mapped(inner, change) for key, inner in value.items()}
        case list() | tuple():
            return [_mapped(inner, change) for inner in value]
        case _:
            return value
