"""Redact answers: remove what the caller may not see (pure).

Entries of hidden namespaces are dropped. Where an answer about a visible job names a hidden one,
the name is replaced and the sentence stays. Positions in the queue stay as they are.
"""

import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from extender.core.kinds import registry
from shared.readapi import api
from shared.readapi.ledgers import ParkingsResponse, RescalesResponse
from shared.readapi.tenancy import NamespacesResponse

HIDDEN: Final = "other-namespace/job/hidden"
"""Replaces the name of a job, or of a pod, that the caller may not see."""

_NAMED: Final = re.compile(r"(?<![\w./-])([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)((?:/[\w.-]*\w){1,2})")
"""``namespace/name`` or ``namespace/kind/name`` in a text."""
_KINDS: Final = frozenset(kind.kind for kind in registry.KINDS.kinds)

_Body = TypeVar("_Body", bound=Struct)
_Sees = Callable[[str], bool]


def listed_namespaces(body: api.Response) -> frozenset[str]:
    """Return the namespaces whose jobs an answer lists, or is about."""
    about = (body, getattr(body, "entry", None))
    namespaces = frozenset(_namespace(entry) for entry in (*about, *_entries(body)))
    return namespaces - {""}


def named_namespaces(body: api.Response, known: AbstractSet[str]) -> frozenset[str]:
    """Return those of the ``known`` namespaces that an answer names in its texts."""
    texts = _texts(msgspec.to_builtins(body))
    names = frozenset(name[1] for text in texts for name in _NAMED.finditer(text))
    return names & known


def without_names(body: api.Response, visible: AbstractSet[str], known: AbstractSet[str]) -> Any:
    """Return an answer, ready for JSON, without names from outside the ``visible`` namespaces.

    ``namespace/name`` is a name if the namespace is ``known``; a job's key is one even if it is
    not: the namespace may be gone, or not observed yet, and its jobs are secret all the same.
    """

    def renamed(match: re.Match[str]) -> str:
        namespace, rest = match[1], match[2]
        is_name = namespace in known or _is_key(rest)
        return HIDDEN if is_name and namespace not in visible else match[0]

    return _mapped(msgspec.to_builtins(body), lambda text: _NAMED.sub(renamed, text))


def _is_key(rest: str) -> bool:
    """True if ``/kind/name`` is what follows the namespace in a job's key."""
    _, kind, *name = rest.split("/")
    return bool(name) and kind in _KINDS


def keep_namespaces(body: _Body, visible: AbstractSet[str]) -> _Body:
    """Return an answer with the entries of ``visible`` namespaces only."""
    return _pruned(body, visible.__contains__)


def _pruned(body: _Body, sees: _Sees) -> _Body:
    match body:
        case api.QueueResponse() | api.JobsResponse() | NamespacesResponse():
            return replace(body, entries=_kept(body.entries, sees))
        case api.MigrationsResponse() | RescalesResponse() | ParkingsResponse():
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
    """Yield the entries that ``_pruned`` keeps or drops."""
    for name in ("entries", "declined", "ahead", "shifts"):
        entries = getattr(body, name, None)
        if isinstance(entries, tuple):  # what was declined of one job is about that job
            yield from (entry for entry in entries if _namespace(entry))
    obstacles = getattr(body, "obstacles", None)
    if obstacles is not None:
        yield from _entries(obstacles)


def _kept(entries: tuple[Any, ...], sees: _Sees) -> tuple[Any, ...]:
    return tuple(entry for entry in entries if sees(_namespace(entry)))


def _namespace(entry: Any) -> str:
    """Return the namespace of an entry; "" for one without, such as a node."""
    namespace = getattr(entry, "namespace", None)
    return str(namespace if namespace is not None else getattr(entry, "job", "").partition("/")[0])


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
