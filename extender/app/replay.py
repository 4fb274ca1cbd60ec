"""Replay of a decision log: ``shuntyard-extender --replay``, ``shuntyard-sim replay``.

So an incident becomes a test: the same records and parameters must give the same decisions. Only
the first difference is reported, because later decisions depend on it.
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

    A gap, where records were dropped, is reported; records before and after it are replayed.

    Returns:
        0 if at least one decision was replayed and none differs, else 1; the result is printed.
    """
    counted = _Counted(params)
    try:
        first = next(_replayed(segments(log), counted, parameters_hash(params)), None)
    except (RecordingError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        print(f"{log}: {why}", file=sys.stderr)  # noqa: T201 - the command's answer
        return 1
    for line in (*counted.gaps, *(_report(*first, counted.last) if first else ())):
        print(line)  # noqa: T201 - the command's answer
    differ = "the last one differs" if first else "0 differ"
    print(f"{counted.decisions} decisions replayed, {differ}")  # noqa: T201 - the command's answer
    return 1 if first or not counted.decisions else 0


def segments(log: Path) -> tuple[Path, ...]:
    """Return the files of a log, oldest first: a directory's segments, or the file itself."""
    return tuple(sorted(log.glob(SEGMENTS))) if log.is_dir() else (log,)


def scheduler_name(log: Path) -> str | None:
    """Return the ``schedulerName`` in the first line of a log; None if the log is empty.

    Raises:
        RecordingError: It is not a decision log.
        OSError: The file cannot be read.
    """
    for path in segments(log):
        header = _header(path)
        if header is not None:
            return header.scheduler_name
    return None


class _Counted:
    """Replays decisions and counts them; remembers the last one, and the gaps of the log."""

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
    """Return the header of a segment; None if it is empty."""
    with path.open("rb") as lines:
        first = next(lines, b"")
    if not first.endswith(b"\n"):
        return None
    header = recording.decode(first)
    return header if isinstance(header, Header) else None


def _report(path: Path, difference: Difference, record: DecisionRecord | None) -> Iterator[str]:
    """Yield the place of the decision in the log, the decision, and the first part that differs."""
    decided = ""
    if record is not None:
        at = datetime.fromtimestamp(record.now, UTC).isoformat(timespec="milliseconds")
        decided = f": {record.kind} of {at} on generation {record.generation}"
    yield f"{path.name}, line {difference.line}{decided}"
    if difference.what == "generation":
        yield "  the store has another generation: records before it are missing"
    where, recorded, replayed = _first(difference.recorded, difference.replayed)
    yield f"  differs at {where}"
    yield f"  recorded: {_text(recorded)}"
    yield f"  replayed: {_text(replayed)}"


def _first(recorded: Any, replayed: Any, at: str = "$") -> tuple[str, Any, Any]:
    """Return the path of the first part that differs, and both parts."""
    if isinstance(recorded, Mapping) and isinstance(replayed, Mapping):
        keys = sorted(recorded.keys() | replayed.keys())
        pairs = [
            (f".{key}", recorded.get(key, _ABSENT), replayed.get(key, _ABSENT)) for key in keys
        ]
    elif isinstance(recorded, list) and isinstance(replayed, list):
        longest = range(max(len(recorded), len(replayed)))
        pairs = [(f"[{i}]", _item(recorded, i), _item(replayed, i)) for i in longest]
    else:
        return at, recorded, replayed
    for key, left, right in pairs:
        if left != right:
            return _first(left, right, f"{at}{key}")
    return at, recorded, replayed


def _item(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else _ABSENT


def _text(value: Any) -> str:
    text = "nothing" if value is _ABSENT else msgspec.json.encode(value).decode()
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
