"""Reader of the API server's objects, with the user's rights."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Final

from cli import connection
from cli.connection import Answer
from cli.errors import UnreadableError
from shared.clock import Clock
from shared.kube import errors

Object = dict[str, Any]
"""An object as the API server returns it."""

MOST_ITEMS: Final = 10_000
"""Of a list; a check should not cost more."""
_PAGE_ITEMS: Final = 500
_GONE: Final = 404
FORBIDDEN: Final = 403
_CREATED: Final = 201
_NO_RIGHT: Final = " cannot "
"""In what RBAC answers: ``User "a" cannot list resource "pods" …``; a webhook has its own words."""
_TAG: Final = re.compile(r"<[^>]*>?")
"""Of a page of HTML, such as a proxy answers; its last one may be cut."""


@dataclass
class Reader:
    """Reads and caches objects, because several checks need the same ones.

    Attributes:
        ask: Sends path, query and body to the API server.
        clock: This machine's.
        ahead_seconds: How far this machine's clock is ahead of the API server's; None: not known.
            The server's stamp has whole seconds, so one second means nothing.
    """

    ask: Callable[[str, Mapping[str, str], bytes | None], Answer]
    clock: Clock
    ahead_seconds: float | None = None
    _cache: dict[str, Object | None] = field(default_factory=dict)

    def get(self, path: str) -> Object | None:
        """Return the object; None if there is none.

        Raises:
            UnreadableError: The user may not read it, or the server answers otherwise.
        """
        return self._cache[path] if path in self._cache else self.fresh(path)

    def fresh(self, path: str) -> Object | None:
        """Return the object as it is now; otherwise as ``get``."""
        answer = self.answer(path)
        self._cache[path] = None if answer.status == _GONE else _object(answer, "get", path)
        return self._cache[path]

    def items(self, path: str, **query: str) -> list[Object]:
        """Return a collection, ``MOST_ITEMS`` at most.

        Raises:
            UnreadableError: As above, or there is no such collection.
        """
        return list(self._items(path, query))

    def create(self, path: str, body: Object) -> Object:
        """Post a review, which stores nothing, and return it with its result.

        Raises:
            UnreadableError: As above.
        """
        return _object(self.ask(path, {}, json.dumps(body).encode()), "create", path)

    def answer(self, path: str, query: Mapping[str, str] | None = None) -> Answer:
        """Return the raw answer; the first one with a date sets ``ahead_seconds``.

        Raises:
            UnansweredError: There is none.
        """
        sent_at = self.clock.now()
        answer = self.ask(path, query or {}, None)
        if self.ahead_seconds is None and answer.date:
            middle = (sent_at + self.clock.now()) / 2
            self.ahead_seconds = middle - _stamp(answer.date, middle)
        return answer

    def _items(self, path: str, query: Mapping[str, str]) -> Iterator[Object]:
        rest = {"limit": str(_PAGE_ITEMS), **query}
        for _ in range(MOST_ITEMS // _PAGE_ITEMS):
            page = _object(self.answer(path, rest), "list", path)
            yield from page.get("items") or ()
            more = (page.get("metadata") or {}).get("continue")
            if not more:
                return
            rest = {**rest, "continue": more}


def right(verb: str, path: str) -> str:
    """Return the right that a request needs, in RBAC's terms."""
    parts = path.strip("/").split("/")
    group, parts = (parts[1], parts[3:]) if parts[0] == "apis" else ("", parts[2:])
    if not parts:
        return f"`{verb}` on the path {path}"
    where = ""
    if parts[0] == "namespaces" and len(parts) > 2:  # noqa: PLR2004 - else the namespace itself
        where, parts = f" in the namespace {parts[1]}", parts[2:]
    resource = f"{parts[0]}.{group}" if group else parts[0]
    below = f"/{parts[2]}" if len(parts) > 2 else ""  # noqa: PLR2004 - a subresource
    return f"`{verb}` on `{resource}{below}`{where}"


def forbidden(body: bytes, path: str, needed: str) -> UnreadableError:
    """Return why an answer is 403: a right is missing, or what refused it was not RBAC.

    Args:
        body: Of the answer.
        path: That was asked.
        needed: The right, in RBAC's terms.
    """
    error = errors.from_response(FORBIDDEN, body)
    if not error.reason:
        text = " ".join(_TAG.sub(" ", error.message).split()) or "an empty body"
        problem = f"{path} is refused (status 403) by a program before the API server: {text}"
        return UnreadableError(f"{problem}; does `kubectl get --raw {path}` work?")
    if _NO_RIGHT in error.message:
        return UnreadableError(f"needs the right {needed}")
    return UnreadableError(f"{path} is refused by the API server (status 403): {error.message}")


def _object(answer: Answer, verb: str, path: str) -> Object:
    if answer.status in {connection.OK, _CREATED}:
        body = json.loads(answer.body)
        if isinstance(body, dict):
            return body
        raise UnreadableError(f"{path} is not an object")
    if answer.status == FORBIDDEN:
        raise forbidden(answer.body, path, right(verb, path))
    message = errors.from_response(answer.status, answer.body).message.strip()
    raise UnreadableError(f"{path} cannot be read: {message} (status {answer.status})")


def _stamp(date: str, default: float) -> float:
    try:
        return parsedate_to_datetime(date).timestamp()
    except ValueError:  # a proxy on the way may send anything
        return default
