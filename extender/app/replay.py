"""A kept decision log, decided again: ``shuntyard-extender --replay``, ``shuntyard-sim replay``.

An incident thus becomes a test: the same lines, the same parameters, the same decisions, or the
first one that differs. What comes after it rests on it, so that it alone is told.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from extender.core.cluster.snapshot import Snapshot
from extender.core.decisionlog.replay import Replayer, parameters_hash
from extender.core.parameters.combined import CoreParameters
from extender.store import recording
from extender.store.recording import DecisionRecord, Difference, Header, RecordingError

SEGMENTS: Final = "decisions-*.jsonl"
_MOST_SHOWN: Final = 400
"""Characters of a value that are printed."""
_ABSENT: Final = object()


def run(log: Path, params: CoreParameters) -> int:
    """Replay a segment, or all of a directory, up to the first difference.

    A gap, where records were dropped, is named; what is before and after it is decided again.

    Returns:
        0 if at least one decision was replayed and none differs, else 1; what was found is printed.
    """
    counted = _Counted(params)
    try:
        found = next(_replayed(segments(log), counted, parameters_hash(params)), None)
    except (RecordingError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        print(f"{log}: {why}", file=sys.stderr)  # noqa: T201 - the command's answer
        return 1
    for line in (*counted.gaps, *(_told(*found, counted.last) if found else ())):
        print(line)  # noqa: T201 - the command's answer
    differ = "the last one differs" if found else "0 differ"
    print(f"{counted.decisions} decisions replayed, {differ}")  # noqa: T201 - the command's answer
    return 1 if found or not counted.decisions else 0


def segments(log: Path) -> tuple[Path, ...]:
    """Return the files of a log, oldest first: a directory's segments, or the file itself."""
    return tuple(sorted(log.glob(SEGMENTS))) if log.is_dir() else (log,)


def scheduler_name(log: Path) -> str | None:
    """Return whose pods the log is about, as its first line says; None if there is none.

    Raises:
        RecordingError: The line is not that of a log.
        OSError: The file cannot be read.
    """
    for path in segments(log):
        header = _header(path)
        if header is not None:
            return header.scheduler_name
    return None


class _Counted:
    """Decides, counts how often, and remembers what it decided last, and where the log has gaps."""

    def __init__(self, params: CoreParameters) -> None:
        self.decisions = 0
        self.last: DecisionRecord | None = None
        self.gaps: list[str] = []
        self._replayer = Replayer(params)

    def decide(self, snapshot: Snapshot, record: DecisionRecord) -> Any:
        """Return the output of one decision; the end of a Binding is an event, not a decision."""
        self.last = record
        if record.kind == "bind":
            return record.output
        self.decisions += 1
        return self._replayer.decide(snapshot, record.kind, record.input)


def _replayed(
    paths: Sequence[Path], counted: _Counted, hash_now: str
) -> Iterator[tuple[Path, Difference]]:
    for path in paths:
        header = _header(path)
        if header is not None and header.lost:
            counted.gaps.append(f"{path.name} begins after a gap of {header.lost} records")
        if header is not None and header.parameters_hash != hash_now:
            raise RecordingError(
                f"{path.name} was written with other parameters ({header.parameters_hash}); "
                f"the settings given have {hash_now}"
            )
        with path.open("rb") as lines:
            for difference in recording.replay(lines, counted.decide):
                yield path, difference


def _header(path: Path) -> Header | None:
    """Return what a segment begins with; None if it is empty."""
    with path.open("rb") as lines:
        first = next(lines, b"")
    if not first.endswith(b"\n"):
        return None
    header = recording.decode(first)
    return header if isinstance(header, Header) else None


def _told(path: Path, difference: Difference, record: DecisionRecord | None) -> Iterator[str]:
    """Yield where the decision stands, what it was, and where it first differs."""
    what = ""
    if record is not None:
        at = datetime.fromtimestamp(record.now, UTC).isoformat(timespec="milliseconds")
        what = f": {record.kind} of {at} on generation {record.generation}"
    yield f"{path.name}, line {difference.line}{what}"
    if difference.what == "generation":
        yield "  the store has another generation: records before it are missing"
    where, recorded, replayed = _first(difference.recorded, difference.replayed)
    yield f"  differs at {where}"
    yield f"  recorded: {_text(recorded)}"
    yield f"  replayed: {_text(replayed)}"


def _first(one: Any, other: Any, at: str = "$") -> tuple[str, Any, Any]:
    """Return the path of the first part that differs, and both parts."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        keys = sorted(one.keys() | other.keys())
        pairs = [(f".{key}", one.get(key, _ABSENT), other.get(key, _ABSENT)) for key in keys]
    elif isinstance(one, list) and isinstance(other, list):
        longest = range(max(len(one), len(other)))
        pairs = [(f"[{i}]", *(_item(found, i) for found in (one, other))) for i in longest]
    else:
        return at, one, other
    for key, left, right in pairs:
        if left != right:
            return _first(left, right, f"{at}{key}")
    return at, one, other


def _item(found: list[Any], index: int) -> Any:
    return found[index] if index < len(found) else _ABSENT


def _text(value: Any) -> str:
    text = "nothing" if value is _ABSENT else msgspec.json.encode(value).decode()
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
