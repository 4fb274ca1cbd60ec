"""``shuntyard-extender --replay DIRECTORY``: decides a kept decision log again.

An incident thus becomes a test: the same lines, the same parameters, the same decisions, or the
first one that differs.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from extender.engine.parameters import EngineParameters
from extender.engine.replaying import Replayer, parameters_hash
from extender.engine.snapshot import Snapshot
from extender.state import recording
from extender.state.recording import DecisionRecord, Difference, Header, RecordingError


def run(directory: Path, params: EngineParameters) -> int:
    """Replay all segments of a directory; print what differs; return 0 only if nothing does."""
    paths = sorted(directory.glob("decisions-*.jsonl"))
    counted = _Counted(params)
    try:
        differences = list(_replayed(paths, counted, parameters_hash(params)))
    except RecordingError as error:
        print(f"{directory}: {error}")  # noqa: T201 - the command's answer
        return 1
    for path, difference in differences:
        text = msgspec.json.encode(difference).decode()
        print(f"{path.name}: {text}")  # noqa: T201 - the command's answer
    summary = f"{counted.decisions} decisions replayed, {len(differences)} differ"
    print(summary)  # noqa: T201 - the command's answer
    return 1 if differences or not counted.decisions else 0


class _Counted:
    """Decides, and counts how often."""

    def __init__(self, params: EngineParameters) -> None:
        self.decisions = 0
        self._replayer = Replayer(params)

    def decide(self, snapshot: Snapshot, record: DecisionRecord) -> Any:
        """Return the output of one decision; the end of a Binding is an event, not a decision."""
        if record.kind == "bind":
            return record.output
        self.decisions += 1
        return self._replayer.decide(snapshot, record.kind, record.input)


def _replayed(
    paths: list[Path], counted: _Counted, hash_now: str
) -> Iterator[tuple[Path, Difference]]:
    for path in paths:
        with path.open("rb") as lines:
            header = recording.decode(next(lines))
            if isinstance(header, Header) and header.parameters_hash != hash_now:
                raise RecordingError(
                    f"{path.name} was written with other parameters ({header.parameters_hash}); "
                    f"the settings given have {hash_now}"
                )
            lines.seek(0)
            for difference in recording.replay(lines, counted.decide):
                yield path, difference
