"""JSON objects: small ones decoded whole, large ones scanned piece by piece.

The scan finds where the entries of one list are. It looks at the structure only: strings and
brackets. It keeps what is at the top of the object, the place in the file of each of the last
entries of that list, and nothing else. Each entry can then be read and decoded on its own.
"""

import json
import re
from array import array
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from shared.errors import MalformedError

_DECODER: Final = msgspec.json.Decoder(dict[str, Any])
LONGEST_STRING: Final = 64 * 1024
"""Bytes of a string that continues after a piece; a path or a note has a hundred."""
MOST_TOP_BYTES: Final = 64 * 1024
"""Size of the top level of the object without its lists and objects; 1 KiB in a
``trainer_state.json``."""
MOST_DEPTH: Final = 32
"""Brackets within brackets; a ``trainer_state.json`` has 5."""
MOST_BRACKETS: Final = 1_000_000
"""Lists and objects; a history of 100,000 entries has as many, and 20 MB."""
_TOKEN: Final = re.compile(
    rb'\{[^{}\[\]"\\]*+(?:"[^"\\]*+"[^{}\[\]"\\]*+)*+\}'  # an object that holds no other
    rb'|"[^"\\]*+(?:\\.[^"\\]*+)*+"'
    rb'|["{}\[\]]',
    re.DOTALL,
)
_CLOSING: Final = {b"{": b"}", b"[": b"]"}
_ENTRY_DEPTH: Final = 2


def decoded(text: str) -> Mapping[str, Any]:
    """Return an object, also one with ``NaN`` and ``Infinity``; empty if the text is not one.

    Both decoders refuse numbers of thousands of digits, and thousands of levels.
    """
    try:
        return _DECODER.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class JsonScan:
    """Locates the last entries of one list at the top of an object.

    Args:
        key: Key of the list.
        most_entries: Entries of which the place is kept.

    Attributes:
        offset: Bytes fed so far.
        entries: Objects of the list so far.
        is_found: The list exists.
    """

    def __init__(self, key: str, most_entries: int) -> None:
        self.offset = self.entries = 0
        self._list_key = re.compile(rb'"' + re.escape(key.encode()) + rb'"\s*:\s*\Z')
        self._places = array("q", bytes(2 * 8 * most_entries))
        self._most = most_entries
        self._open = b""
        self._in_list = self.is_found = False
        self._begins_at = self._brackets = 0
        self._top = bytearray()
        self._rest = b""

    def feed(self, piece: bytes) -> None:
        """Take the next bytes.

        Raises:
            MalformedError: Brackets do not match, or a limit is exceeded.
        """
        data, base = self._rest + piece, self.offset - len(self._rest)
        self.offset += len(piece)
        position = 0
        for token in _TOKEN.finditer(data):
            kind = data[token.start() : token.start() + 1]
            if kind == b'"':
                if token.end() - token.start() == 1:  # it continues in the next piece
                    self._keep_top(data[position : token.start()])
                    position = token.start()
                    break
                continue
            position = self._bracket(data, position, token, base)
        else:
            self._keep_top(data[position:])
            position = len(data)
        self._rest = data[position:]
        if len(self._rest) > LONGEST_STRING:
            raise MalformedError(f"a string of more than {LONGEST_STRING} bytes")

    @property
    def held_bytes(self) -> int:
        """See ``HoldsMemory``."""
        return self._places.itemsize * len(self._places) + len(self._top) + len(self._rest)

    def top(self) -> Mapping[str, object]:
        """Return the top level of the object; lists and objects in it are None.

        Raises:
            MalformedError: It is not complete, or not an object.
        """
        text = bytes(self._top).strip()
        if self._open or self._rest or not text:
            raise MalformedError("incomplete: it may still be being written")
        if not (top := decoded(text.decode(errors="replace"))):
            raise MalformedError("not a JSON object")
        return top

    def places(self) -> list[tuple[int, int]]:
        """Return offset and length of each of the last entries, oldest first."""
        kept = range(max(0, self.entries - self._most), self.entries)
        indexes = [2 * (number % self._most) for number in kept]
        return [(self._places[i], self._places[i + 1]) for i in indexes]

    def _bracket(self, data: bytes, at: int, token: "re.Match[bytes]", base: int) -> int:
        """Process a bracket, or a whole object; return where the unprocessed rest begins."""
        start, end = token.span()
        kind = data[start : start + 1]
        if end - start > 1 and not self._open:
            self._keep_top(data[at:end])
        elif end - start > 1:
            self._enter(data, at, start, base, kind)
            self._leave(b"}", base + end)
        elif kind in _CLOSING:
            self._enter(data, at, start, base, kind)
        else:
            if len(self._open) == 1:
                self._keep_top(data[at:end])
            self._leave(kind, base + end)
        return end

    def _enter(self, data: bytes, at: int, start: int, base: int, kind: bytes) -> None:
        depth = len(self._open)
        self._brackets += 1
        if self._brackets > MOST_BRACKETS:
            raise MalformedError(f"more than {MOST_BRACKETS} lists and objects")
        if depth == 0:
            self._keep_top(data[at : start + 1])
        elif depth == 1:
            self._keep_top(data[at:start])
            self._in_list = kind == b"[" and self._list_key.search(self._top[-256:]) is not None
            self.is_found = self.is_found or self._in_list
            self._keep_top(b"null")
        elif depth == _ENTRY_DEPTH:
            self._begins_at = base + start
        elif depth == MOST_DEPTH:
            raise MalformedError(f"nested more than {MOST_DEPTH} levels deep")
        self._open += kind

    def _leave(self, kind: bytes, end: int) -> None:
        if not self._open or _CLOSING[self._open[-1:]] != kind:
            raise MalformedError(f"not JSON: {kind.decode()!r} at byte {end - 1} closes nothing")
        self._open = self._open[:-1]
        if len(self._open) == _ENTRY_DEPTH and self._in_list and kind == b"}":
            place = 2 * (self.entries % self._most)
            self._places[place], self._places[place + 1] = self._begins_at, end - self._begins_at
            self.entries += 1

    def _keep_top(self, text: bytes) -> None:
        if len(self._open) > 1:
            return
        self._top += text
        if len(self._top) > MOST_TOP_BYTES:
            raise MalformedError(f"more than {MOST_TOP_BYTES} bytes of keys and values at its top")
