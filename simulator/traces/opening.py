"""``open_trace``: opens a trace file, whose format is detected by its first line."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from simulator.traces import adaptdl, chronus, decision_log, openb, own
from simulator.traces.errors import TraceError
from simulator.traces.faults import Faults
from simulator.workload import Workload

Reader = Callable[[Path, Faults], Workload]

FORMATS: Final[Mapping[str, Reader]] = {
    "chronus": chronus.read,
    "adaptdl": adaptdl.read,
    "openb": openb.read,
    "own": own.read,
    "decisions": decision_log.read,
}
"""Format → its reader."""

_HEADS: Final[Mapping[str, tuple[str, ...]]] = {
    "chronus": chronus.COLUMNS,
    "adaptdl": adaptdl.COLUMNS,
    "openb": openb.POD_COLUMNS,
    "own": own.NEEDED,
}


def open_trace(path: Path, known_as: str = "", faults: Faults | None = None) -> Workload:
    """Return the workload of a trace.

    Args:
        path: A file; a folder for a decision log of several segments.
        known_as: Its format; empty: detected by the head line.
        faults: Collects bad lines; None: the first one ends the reading.

    Raises:
        TraceError: No such file, an unknown format, or a bad line.
    """
    if not path.exists():
        raise TraceError(path, 0, "file", str(path), "a file or folder that exists")
    name = known_as or detected(path)
    if name not in FORMATS:
        raise TraceError(path, 0, "format", name, f"one of {', '.join(FORMATS)}")
    workload = FORMATS[name](path, faults or Faults())
    if not workload.jobs:
        raise TraceError(path, 0, "jobs", "0", "at least one job")
    return workload


def detected(path: Path) -> str:
    """Return the format of a file by its first line.

    Raises:
        TraceError: The line fits no format.
    """
    if path.is_dir():
        return "decisions"
    with path.open(encoding="utf-8", errors="replace") as lines:
        first = lines.readline().strip()
    if first.startswith("{"):
        return "decisions" if '"type":"Header"' in first.replace(" ", "") else "own"
    columns = {name.strip() for name in first.split(",")}
    for name, needed in _HEADS.items():
        if columns.issuperset(needed):
            return name
    expected = "a head line of " + ", of ".join(f"{k} ({','.join(v)})" for k, v in _HEADS.items())
    raise TraceError(path, 1, "columns", first[:80], expected)
