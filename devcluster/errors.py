"""Errors of the devcluster.

::

    DevclusterError (ShuntyardError)
    ├── AssetsError        a binary is missing, of another version, or could not be built
    ├── ComponentError     a component did not start or ended; carries the tail of its log
    ├── ClusterStateError  the directory holds no cluster, or not the one that was expected
    └── MachineError       this machine lacks a right, a package or a place that real nodes need
"""

from pathlib import Path
from typing import Final

from shared.errors import ShuntyardError

TAIL_LINES: Final = 20


class DevclusterError(ShuntyardError):
    """Base of all errors of the devcluster."""


class AssetsError(DevclusterError):
    """A binary is missing, has another version than expected, or could not be built."""


class ClusterStateError(DevclusterError):
    """The directory holds no cluster, or the cluster is not as the caller expected."""


class MachineError(DevclusterError):
    """This machine lacks a right, a package or a place that real nodes need."""


class ComponentError(DevclusterError):
    """A component did not start, or ended.

    Args:
        component: Its name, e.g. ``kube-apiserver``.
        problem: What happened, in words.
        log: Its log file; the message ends with the last lines of it.
    """

    def __init__(self, component: str, problem: str, log: Path) -> None:
        super().__init__(f"{component} {problem}; the end of {log}:\n{tail(log)}")
        self.component = component
        self.problem = problem


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """Return the last lines of a log file, indented, or a note that there are none."""
    try:
        text = log.read_text(errors="replace")
    except FileNotFoundError:
        return "  (no log)"
    return "\n".join(f"  {line}" for line in text.splitlines()[-lines:]) or "  (empty)"
