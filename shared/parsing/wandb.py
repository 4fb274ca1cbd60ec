"""Files of Weights & Biases, ``run-ID.wandb``, which it writes online and offline, without wandb.

A file is a header and then blocks of 32 KiB, as in LevelDB's log: parts of records with checksum,
length and kind. A record is a message ``Record``; its field ``history`` has the values of one call
of ``log``. All other records (configuration, system metrics, console output) are skipped.

Source:
    wandb 0.31, ``core/pkg/leveldb`` (blocks, checksum), ``wandb_internal.proto`` (``Record``,
    ``HistoryRecord``, ``HistoryItem``); github.com/google/leveldb, ``doc/log_format.md``.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Final

from shared.parsing.base import LONGEST_NAME, Point, number
from shared.parsing.metric_names import is_metric
from shared.parsing.tfevents import fields

_HEADER: Final = b":W&B\xe1\xbe\x00"
_BLOCK: Final = 32 * 1024
_PART: Final = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_CHECKSUMS: Final = {kind: zlib.crc32(bytes([kind])) for kind in (_FULL, _FIRST, _MIDDLE, _LAST)}
MOST_RECORD_BYTES: Final = 128 * 1024
"""Larger records are tables and code: they are skipped. A call of ``log`` has 200 bytes."""
MOST_VALUES: Final = 256
"""Values of one record that are read."""
_HISTORY: Final = 2
_ITEM: Final = 1
_KEY, _NESTED_KEY, _VALUE = 1, 2, 16
_STEPS: Final = ("global_step", "train/global_step", "trainer/global_step", "_step")
"""The first that a record has is its step; ``_step`` counts calls of ``log``."""
_TIME: Final = "_timestamp"


class Wandb:
    """The numbers of each call of ``log``; nested names are joined by dots, as W&B shows them."""

    format = "wandb"

    def __init__(self) -> None:
        self._offset = 0
        self._parts: list[bytes] = []
        self.problem = ""

    def feed_bytes(self, data: bytes, *, skip: bool = False) -> tuple[Sequence[Point], int]:
        """See ``RecordParser``. A record with a wrong checksum is skipped."""
        points: list[Point] = []
        at = 0
        if self._offset == 0 and len(data) >= len(_HEADER):
            if not data.startswith(_HEADER):
                self.problem = "this is not a file of Weights & Biases"
                return points, len(data)
            at = len(_HEADER)
        elif self._offset == 0:
            return points, 0
        while (part := self._part(data, at)) is not None:
            kind, begin, end = part
            at = end
            record = self._record(kind, data[begin:end])
            if record is not None and not skip:
                points += _points(record)
        self._offset += at
        return points, at

    def reset(self) -> None:
        """See ``RecordParser``."""
        self._offset, self._parts, self.problem = 0, [], ""

    def _part(self, data: bytes, at: int) -> tuple[int, int, int] | None:
        """Return kind, begin and end of the next part; kind 0: nothing to read; None: incomplete.

        A block ends with bytes that are too few for the header of a part.
        """
        left = _BLOCK - (self._offset + at) % _BLOCK
        if left < _PART.size:
            return (0, at + left, at + left) if at + left <= len(data) else None
        if at + _PART.size > len(data):
            return None
        checksum, length, kind = _PART.unpack_from(data, at)
        begin, end = at + _PART.size, at + _PART.size + length
        if kind not in _CHECKSUMS:  # the rest of the block was not written
            return (0, at + left, at + left) if at + left <= len(data) else None
        if end > len(data):
            return None
        is_intact = zlib.crc32(data[begin:end], _CHECKSUMS[kind]) == checksum
        return (kind if is_intact else 0), begin, end

    def _record(self, kind: int, part: bytes) -> bytes | None:
        """Take a part; return the record that it completes."""
        if kind == _FULL:
            self._parts = []
            return part
        if kind == _FIRST:
            self._parts = [part]
        elif kind in {_MIDDLE, _LAST} and self._parts:
            self._parts.append(part)
            if sum(map(len, self._parts)) > MOST_RECORD_BYTES:
                self._parts = []
        if kind != _LAST or not self._parts:
            return None
        record, self._parts = b"".join(self._parts), []
        return record


def _points(record: bytes) -> list[Point]:
    try:
        values = dict(_values(record))
    except ValueError:
        return []
    step = next((values[name] for name in _STEPS if name in values), None)
    at_seconds = values.get(_TIME)
    if at_seconds is not None and not isfinite(at_seconds):
        at_seconds = None
    if step is None or not isfinite(step):
        return []
    return [
        Point(name, value, step, at_seconds=at_seconds)
        for name, value in values.items()
        if not name.startswith("_") and name not in _STEPS and is_metric(name)
    ]


def _values(record: bytes) -> Iterator[tuple[str, float]]:
    """Yield the numbers of a record of the history.

    Raises:
        ValueError: It is not a message.
    """
    count = 0
    for kind, history in fields(record):
        if kind != _HISTORY or isinstance(history, int):
            continue
        for part, item in fields(history):
            if part == _ITEM and isinstance(item, bytes) and count < MOST_VALUES:
                count += 1
                name, value = _item(item)
                if value is not None and 0 < len(name) <= LONGEST_NAME:
                    yield name, value


def _item(item: bytes) -> tuple[str, float | None]:
    names: list[str] = []
    value: float | None = None
    for part, data in fields(item):
        if isinstance(data, int):
            continue
        if part in {_KEY, _NESTED_KEY}:
            names.append(data.decode("utf-8", "replace"))
        elif part == _VALUE and len(data) < LONGEST_NAME:
            value = number(data.decode("utf-8", "replace"))
    return ".".join(filter(None, names)), value
