"""Directories that a kubelet requires; every node mounts its own there.

Only the mount points are on this machine, and those that did not exist are removed with the nodes.
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
    """Create the missing directories; record them in ``record`` first."""
    recorded = _recorded(record)
    missing = [place for place in places if not place.exists()]
    record.write_text(json.dumps([*recorded, *map(str, missing)]))
    for place in missing:
        place.mkdir(exist_ok=True)


def remove(record: Path) -> None:
    """Remove the recorded directories that are empty."""
    for name in _recorded(record):
        place = Path(name)
        if place.is_dir() and not any(place.iterdir()):
            place.rmdir()


def _recorded(record: Path) -> list[str]:
    return list(json.loads(record.read_text())) if record.exists() else []
