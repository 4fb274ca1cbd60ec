"""The list-watch protocol without I/O: parameters of requests, and meaning of responses.

The caller requests pages with ``list_params`` while ``listing``, passes them to ``feed_list``, then
watches with ``watch_params`` and passes each line to ``feed_line``. An expired resource version
makes ``listing`` true again.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from shared.kube import depth, errors, parse, wire
from shared.kube.errors import ApiError, BrokenAnswerError, OddObjectError
from shared.kube.resources import ResourceKind
from shared.model import Delete, Entity, Replace, Upsert

Report = Callable[[str, Exception], None]
"""Called with the key of an unreadable object and the error."""

_PAGE: Final = msgspec.json.Decoder(wire.Page)
_EVENT: Final = msgspec.json.Decoder(wire.Event)
_STATUS: Final = msgspec.json.Decoder(errors.Status)
_UPSERTS: Final = frozenset({"ADDED", "MODIFIED"})


class ListWatch:
    """State of mirroring one collection.

    Attributes:
        bookmarks_seen: The server sends bookmarks, so silence means that the connection is dead.
    """

    def __init__(self, kind: ResourceKind, report: Report, *, page_size: int = 500) -> None:
        self.bookmarks_seen = False
        self._kind = kind
        self._report = report
        self._page_size = page_size
        self._version: str | None = None
        self._continue = ""
        self._listed: list[Entity] = []
        self._any_version = True

    @property
    def listing(self) -> bool:
        """Whether the next request is a list."""
        return self._version is None

    def list_params(self) -> dict[str, str]:
        """Return the parameters of the next page.

        The first list accepts the server's cache (``resourceVersion=0``); later ones must not go
        back in time.
        """
        params = {"limit": str(self._page_size)}
        if self._continue:
            params["continue"] = self._continue
        elif self._any_version:
            params["resourceVersion"] = "0"
        return params

    def watch_params(self, timeout_seconds: float) -> dict[str, str]:
        """Return the parameters of a watch from where we are."""
        return {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version or "",
            "timeoutSeconds": str(int(timeout_seconds)),
        }

    def feed_list(self, page: bytes) -> Replace | None:
        """Process a page; return the whole collection after the last one.

        Raises:
            BrokenAnswerError: It is not a page of a list.
        """
        try:
            decoded = depth.decoded(_PAGE, page)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BrokenAnswerError(str(error)) from error
        self._listed.extend(self._readable(decoded.items or ()))
        self._continue = decoded.metadata.continue_token or ""
        if self._continue:
            return None
        self._version = decoded.metadata.resource_version
        self._any_version = False
        entities, self._listed = tuple(self._listed), []
        return Replace(self._kind.kind, self._kind.source, entities)

    def feed_line(self, line: bytes) -> Upsert | Delete | None:
        """Process a line of a watch; return its change, if any.

        Raises:
            GoneError: The version has expired; ``listing`` is true now.
            ApiError: The server ended the watch with another error; ``listing`` is true now.
        """
        try:
            event = depth.decoded(_EVENT, line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self.expire()
            raise BrokenAnswerError(str(error)) from error
        if event.type == "ERROR":
            self.expire()
            raise _error(event.object)
        return self._change(event)

    def expire(self) -> None:
        """List again, from the first page: our state may be too old or incomplete."""
        self._version = None
        self._continue = ""
        self._listed = []

    def _change(self, event: wire.Event) -> Upsert | Delete | None:
        """Return the change of an event; the usual ones are decoded in one pass."""
        if event.type in _UPSERTS:
            with contextlib.suppress(OddObjectError):  # unreadable objects are handled below
                entity = self._kind.decode(event.object)
                if version := getattr(entity, "resource_version", ""):
                    self._version = version
                    return Upsert(entity)
        return self._change_of(event)

    def _change_of(self, event: wire.Event) -> Upsert | Delete | None:
        try:
            meta = parse.decode_identity(event.object)
        except OddObjectError as error:
            self._report(error.key, error)
            return None
        self._version = meta.resource_version or self._version
        if event.type == "BOOKMARK":
            self.bookmarks_seen = True
            return None
        if event.type != "DELETED":
            try:
                return Upsert(self._kind.decode(event.object))
            except OddObjectError as error:  # skipped, as in a list
                self._report(error.key, error)
        return Delete(self._kind.kind, self._kind.key(meta.namespace, meta.name), meta.uid)

    def _readable(self, items: "list[msgspec.Raw] | tuple[()]") -> Iterator[Entity]:
        for item in items:
            try:
                yield self._kind.decode(item)
            except OddObjectError as error:
                self._report(error.key, error)


def _error(raw: msgspec.Raw) -> ApiError:
    try:
        return errors.from_status(_STATUS.decode(raw))
    except msgspec.DecodeError as error:
        return BrokenAnswerError(str(error))
