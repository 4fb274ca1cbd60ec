"""What the clusters of a run saw, as files: one for each cluster, its calls summed up."""

import os
import uuid
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from devcluster.rights.calls import Call, read

VARIABLE: Final = "SHUNTYARD_RECORD_API_CALLS"
"""Names the directory; every cluster that is started while it is set records its calls."""


class Line(Struct, frozen=True):
    """One kind of call, and how often it was made."""

    call: Call
    count: int


def place(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the directory that `VARIABLE` names."""
    named = environ.get(VARIABLE)
    return Path(named) if named else None


def keep_all(log: Path, environ: Mapping[str, str] = os.environ) -> None:
    """Write down what a cluster's audit log holds, if it has one and somebody wants it."""
    directory = place(environ)
    if directory is not None and log.is_dir():
        keep(directory, read(log))


def keep(directory: Path, calls: Counter[Call]) -> None:
    """Write what one cluster saw."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = [msgspec.json.encode(Line(call, count)) for call, count in sorted(calls.items())]
    file = directory / f"{uuid.uuid4().hex}.jsonl"
    file.write_bytes(b"".join(line + b"\n" for line in lines))


def kept(directory: Path) -> Counter[Call]:
    """Return what all clusters saw together."""
    found: Counter[Call] = Counter()
    for file in sorted(directory.glob("*.jsonl")):
        for raw in file.read_bytes().splitlines():
            line = msgspec.json.decode(raw, type=Line)
            found[line.call] += line.count
    return found
