"""The control groups of real nodes: one below ``shuntyard-real`` in every hierarchy.

Only version 1 (also beside an empty version 2, "hybrid"): the kubelet is configured for it.

Source:
    Documentation/admin-guide/cgroup-v1 of Linux: cpusets.rst on empty ``cpuset.cpus``.
"""

import time
from pathlib import Path
from typing import Final

GROUP: Final = "shuntyard-real"
_MOUNTS: Final = Path("/proc/self/mounts")
_EMPTY_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.02


def hierarchies(mounts: str | None = None) -> tuple[Path, ...]:
    """Return where control groups are mounted, of either version.

    Args:
        mounts: Lines as of ``/proc/self/mounts``; None: that file.
    """
    lines = (mounts or _MOUNTS.read_text()).splitlines()
    fields = [line.split() for line in lines]
    found = [Path(place) for _, place, kind, *_ in fields if kind in {"cgroup", "cgroup2"}]
    return tuple(dict.fromkeys(found))


def version_1(mounts: str | None = None) -> bool:
    """Return whether CPU time is counted by version 1."""
    lines = (mounts or _MOUNTS.read_text()).splitlines()
    fields = [line.split() for line in lines]
    return any(kind == "cgroup" and "cpu" in words.split(",") for _, _, kind, words, *_ in fields)


def groups(node: str) -> tuple[Path, ...]:
    """Return a node's groups, one in every hierarchy."""
    return tuple(place / GROUP / node for place in hierarchies())


def make(node: str) -> None:
    """Create a node's groups."""
    for group in groups(node):
        group.mkdir(parents=True, exist_ok=True)
        _fill_cpuset(group.parent)
        _fill_cpuset(group)


def _fill_cpuset(group: Path) -> None:
    """Fill a new cpuset, because no process can enter one without CPUs."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (group / name).exists() and not (group / name).read_text().strip():
            (group / name).write_text((group.parent / name).read_text())


def names() -> tuple[str, ...]:
    """Return the nodes that have groups."""
    roots = [place / GROUP for place in hierarchies()]
    found = {path.name for root in roots if root.is_dir() for path in root.iterdir()}
    return tuple(sorted(name for name in found if any((root / name).is_dir() for root in roots)))


def remove(node: str) -> tuple[Path, ...]:
    """Remove a node's groups once they are empty; returns what could not be removed."""
    roots = [place / GROUP for place in hierarchies() if (place / GROUP).is_dir()]
    deadline = time.monotonic() + _EMPTY_SECONDS
    left = [path for root in roots for path in _removed(root / node, deadline)]
    for root in roots:
        if not any(path.is_dir() for path in root.iterdir()):
            left += _removed(root, deadline)
    return tuple(left)


def _removed(group: Path, deadline: float) -> list[Path]:
    """Remove a group and those in it; returns the ones that are still there at the deadline."""
    inner = [path for path in group.rglob("*") if path.is_dir()]
    groups = sorted([group, *inner], key=lambda path: -len(path.parts))
    return [path for path in groups if not _gone(path, deadline)]


def _gone(group: Path, deadline: float) -> bool:
    while group.is_dir():
        try:
            group.rmdir()
        except OSError:  # something is still ending in it
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
    return True
