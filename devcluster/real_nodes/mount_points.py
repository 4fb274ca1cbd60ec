"""Directories that a kubelet insists on; every node mounts its own there.

Only the mount points are this machine's, and what was not there before goes with the nodes.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

PLACES: Final = (
    Path("/var/lib/kubelet"),
    Path("/var/lib/cni"),
    Path("/var/log/pods"),
    Path("/var/log/containers"),
)


def make(record: Path, places: Iterable[Path] = PLACES) -> None:
    """Make the directories that are missing and note them in ``record``, before they are made."""
    noted = _noted(record)
    missing = [place for place in places if not place.exists()]
    record.write_text(json.dumps([*noted, *map(str, missing)]))
    for place in missing:
        place.mkdir(exist_ok=True)


def remove(record: Path) -> None:
    """Remove what is noted; a directory that somebody uses by now stays."""
    for name in _noted(record):
        place = Path(name)
        if place.is_dir() and not any(place.iterdir()):
            place.rmdir()


def _noted(record: Path) -> list[str]:
    return list(json.loads(record.read_text())) if record.exists() else []
