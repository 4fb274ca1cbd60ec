"""Objects of the API server, read with the rights of whoever asks."""

import json
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
"""An object as the API server says it, raw."""

MOST_ITEMS: Final = 10_000
"""Of a list; a look should not cost more than that."""
_PAGE_ITEMS: Final = 500
_GONE: Final = 404
_FORBIDDEN: Final = 403
_CREATED: Final = 201


@dataclass
class Reader:
    """Asks, and remembers what was said: several checks look at the same objects.

    Attributes:
        ask: Path, query and body to the API server's answer.
        clock: This machine's.
        ahead_seconds: How far this machine's clock is ahead of the API server's; None: not known.
            Its stamp has whole seconds, so one second means nothing.
    """

    ask: Callable[[str, Mapping[str, str], bytes | None], Answer]
    clock: Clock
    ahead_seconds: float | None = None
    _known: dict[str, Object | None] = field(default_factory=dict)

    def get(self, path: str) -> Object | None:
        """Return the object; None if there is none.

        Raises:
            UnreadableError: It may not be read, or the server does not say it.
        """
        return self._known[path] if path in self._known else self.fresh(path)

    def fresh(self, path: str) -> Object | None:
        """Return the object as it is now; else as ``get``."""
        answer = self.answer(path)
        self._known[path] = None if answer.status == _GONE else _object(answer, "get", path)
        return self._known[path]

    def items(self, path: str, **query: str) -> list[Object]:
        """Return a collection, ``MOST_ITEMS`` at most.

        Raises:
            UnreadableError: As above, or there is no such collection.
        """
        return list(self._items(path, query))

    def create(self, path: str, body: Object) -> Object:
        """Post a review, which writes nothing, and return it with its answer.

        Raises:
            UnreadableError: As above.
        """
        return _object(self.ask(path, {}, json.dumps(body).encode()), "create", path)

    def answer(self, path: str, query: Mapping[str, str] | None = None) -> Answer:
        """Return the bare answer, and take its date for the server's clock.

        Raises:
            UnansweredError: There is none.
        """
        asked_at = self.clock.now()
        found = self.ask(path, query or {}, None)
        if self.ahead_seconds is None and found.date:
            middle = (asked_at + self.clock.now()) / 2
            self.ahead_seconds = middle - _stamp(found.date, middle)
        return found

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
    """Return the right that a request needs, as RBAC says it."""
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


def _object(answer: Answer, verb: str, path: str) -> Object:
    if answer.status in {connection.OK, _CREATED}:
        found = json.loads(answer.body)
        if isinstance(found, dict):
            return found
        raise UnreadableError(f"{path} is no object")
    if answer.status == _FORBIDDEN:
        raise UnreadableError(f"needs the right {right(verb, path)}")
    said = errors.from_response(answer.status, answer.body).message.strip()
    raise UnreadableError(f"the API server says of {path}: {said} (status {answer.status})")


def _stamp(date: str, default: float) -> float:
    try:
        return parsedate_to_datetime(date).timestamp()
    except ValueError:  # a proxy in between may say anything
        return default
