"""Lines of container logs in the format of container runtimes (CRI), reassembled. Pure.

::

    2016-10-06T00:17:09.669794202Z stdout F a line
    2016-10-06T00:17:10.113242941Z stderr P the first part of a long line,
    2016-10-06T00:17:10.113242942Z stderr F and its last

Parts are joined per stream. The output of a container has its own carriage returns: a progress bar
gives lines long before the runtime marks one full (``F``).

Source:
    Kubernetes, ``cri-client/pkg/logs/logs.go`` (``parseCRILog``): the tag field is a list divided
    by ``:`` whose first is ``P`` or ``F``.
"""

from datetime import UTC, datetime
from typing import Final

from shared.parsing.cutting import Cut, LineCutter, clean, head_of, plain_lines

_STREAMS: Final = (b"stdout", b"stderr")
_PARTIAL: Final = b"P"
_FULL: Final = b"F"
_STREAM_TEXTS: Final = ("stdout", "stderr")
_FULL_TEXT: Final = "F"
_FIELDS: Final = 4
"""Time, stream, tag, content; an empty content may lack its blank."""
_ANY: Final = 2**31


class CriCutter:
    """Cuts lines of a container, both streams in the order in which the runtime wrote them.

    Args:
        line_bytes: See ``LineCutter``; also the limit of a line of the file.
    """

    enterable = True

    def __init__(self, line_bytes: int) -> None:
        self._most = line_bytes
        self._kept = b""
        self._lost = 0
        self._skipping = False
        self._streams = {name: LineCutter(line_bytes) for name in _STREAMS}

    @property
    def held_bytes(self) -> int:
        """See ``Cutter``."""
        return len(self._kept) + sum(cutter.held_bytes for cutter in self._streams.values())

    def cut(self, data: bytes, most_lines: int) -> Cut:
        """See ``Cutter``."""
        ordinary = self._ordinary(data, most_lines)
        return self._cut(data, most_lines) if ordinary is None else ordinary

    def _ordinary(self, data: bytes, most_lines: int) -> Cut | None:
        """Return what ``_cut`` would, of whole lines of plain text; None if there are others."""
        is_inside = self._kept or self._lost or self._skipping
        if is_inside or len(data) > self._most or not all(map(_is_empty, self._streams.values())):
            return None
        pieces = plain_lines(data)
        if pieces is None or len(pieces) > most_lines:
            return None
        lines: list[str] = []
        times: list[float | None] = []
        for piece in pieces:
            fields = piece.split(" ", 3)
            if len(fields) != _FIELDS or fields[2] != _FULL_TEXT or fields[1] not in _STREAM_TEXTS:
                return None
            if not fields[0]:
                return None
            if text := fields[3].rstrip():
                lines.append(text)
                times.append(_moment(fields[0]))
        return Cut(len(data), tuple(lines), tuple(times))

    def _cut(self, data: bytes, most_lines: int) -> Cut:
        lines: list[str] = []
        times: list[float | None] = []
        consumed = dropped_bytes = dropped_lines = 0
        for piece in _split(head_of(data, most_lines)):
            if len(lines) >= most_lines:
                break
            consumed += len(piece)
            if not piece.endswith(b"\n"):
                self._keep(piece)
                continue
            whole = self._whole(piece)
            if whole is not None:
                text, seen_at = whole
                if text:
                    lines.append(text)
                    times.append(seen_at)
                continue
            cut = self._take(piece)
            dropped_bytes += cut.dropped_bytes
            dropped_lines += cut.dropped_lines
            lines += cut.lines
            times += cut.times
        return Cut(
            consumed,
            tuple(lines),
            tuple(times),
            dropped_bytes=dropped_bytes,
            dropped_lines=dropped_lines,
        )

    def enter(self) -> None:
        """See ``Cutter``."""
        self._skipping = True
        self.enter_parts()

    def enter_parts(self) -> None:
        """Skip parts of lines that began in a file that is not read."""
        for cutter in self._streams.values():
            cutter.enter()

    def rotate(self) -> Cut:
        """See ``Cutter``; parts are kept: the runtime continues them in the next file."""
        lost = len(self._kept) + self._lost
        self._kept, self._lost, self._skipping = b"", 0, False
        return Cut(0, dropped_bytes=lost, dropped_lines=1 if lost else 0)

    def restart(self) -> Cut:
        """See ``Cutter``."""
        own = self.rotate()
        parts = [cutter.restart() for cutter in self._streams.values()]
        return Cut(
            0,
            dropped_bytes=own.dropped_bytes + sum(p.dropped_bytes for p in parts),
            dropped_lines=own.dropped_lines + sum(p.dropped_lines for p in parts),
        )

    def _whole(self, piece: bytes) -> tuple[str, float | None] | None:
        """Return text and time of an ordinary line; None if it has to be joined, cut or refused."""
        if self._kept or self._lost or self._skipping or len(piece) > self._most:
            return None
        fields = piece[:-1].split(b" ", 3)
        if len(fields) != _FIELDS or fields[2] != _FULL or not fields[0] or b"\r" in fields[3]:
            return None
        cutter = self._streams.get(fields[1])
        if cutter is None or not cutter.is_empty:
            return None
        text = clean(fields[3])
        return text, moment(fields[0]) if text else None

    def _take(self, piece: bytes) -> Cut:
        if len(piece) > self._most and not (self._kept or self._lost or self._skipping):
            return Cut(0, dropped_bytes=len(piece), dropped_lines=1)
        if self._kept or self._lost or self._skipping:
            piece = self._kept + piece
            is_incomplete = bool(self._lost) or self._skipping or len(piece) > self._most
            lost, self._kept, self._lost, self._skipping = self._lost, b"", 0, False
            if is_incomplete:
                return Cut(0, dropped_bytes=lost + len(piece), dropped_lines=1)
        fields = piece[:-1].split(b" ", 3)
        tag = fields[2].partition(b":")[0] if len(fields) >= _FIELDS - 1 else b""
        if fields[0] == b"" or tag not in (_PARTIAL, _FULL) or fields[1] not in _STREAMS:
            return Cut(0, dropped_bytes=len(piece), dropped_lines=1)
        content = fields[3] if len(fields) == _FIELDS else b""
        if tag == _FULL:
            content += b"\n"
        cut = self._streams[fields[1]].cut(content, _ANY)
        seen_at = moment(fields[0]) if cut.lines else None
        times = (seen_at,) * len(cut.lines)
        return Cut(
            consumed=0,
            lines=cut.lines,
            times=times,
            data=b"",
            dropped_bytes=cut.dropped_bytes,
            dropped_lines=cut.dropped_lines,
        )

    def _keep(self, piece: bytes) -> None:
        kept = self._kept + piece
        self._lost += max(0, len(kept) - self._most)
        self._kept = kept[-self._most :]


def _is_empty(cutter: LineCutter) -> bool:
    return cutter.is_empty


def moment(stamp: bytes) -> float | None:
    """Return a runtime's time stamp in seconds since the epoch; None if it is not one.

    The second may have any number of digits; without a zone it is UTC.
    """
    try:
        return _moment(stamp.decode("ascii"))
    except UnicodeDecodeError:
        return None


def _moment(stamp: str) -> float | None:
    try:
        parsed = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def _split(data: bytes) -> list[bytes]:
    pieces = [piece + b"\n" for piece in data.split(b"\n")]
    last = pieces.pop()[:-1]
    return [*pieces, last] if last else pieces
