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

from shared import api
from shared.rescales import RescalesResponse
from shared.tenancy import NamespacesResponse

HIDDEN: Final = "other-namespace/job/hidden"
"""What stands for a job, or a pod, that the caller may not see."""

_NAMED: Final = re.compile(r"(?<![\w./-])([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)((?:/[\w.-]*\w){1,2})")
"""``namespace/name`` or ``namespace/kind/name`` in a text."""

_Body = TypeVar("_Body", bound=Struct)
_Sees = Callable[[str], bool]


def mentioned(body: api.Response, known: AbstractSet[str]) -> frozenset[str]:
    """Return the namespaces that an answer speaks of.

    Args:
        body: The answer.
        known: All namespaces that there are.
    """
    listed = {_namespace(one) for one in _entries(body)}
    texts = _texts(msgspec.to_builtins(body))
    named = {found[1] for text in texts for found in _NAMED.finditer(text)}
    return frozenset(listed | (named & known))


def without(body: api.Response, hidden: AbstractSet[str]) -> Any:
    """Return an answer without those namespaces, ready for JSON."""

    def sees(namespace: str) -> bool:
        return namespace not in hidden

    def renamed(found: re.Match[str]) -> str:
        return HIDDEN if found[1] in hidden else found[0]

    return _mapped(msgspec.to_builtins(_pruned(body, sees)), lambda t: _NAMED.sub(renamed, t))


def only(body: _Body, namespace: str) -> _Body:
    """Return an answer with the entries of one namespace."""
    return _pruned(body, lambda name: name == namespace)


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
