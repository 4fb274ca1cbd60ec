"""Where the control groups of pods are, found for uids that we know already.

A pod's directory is looked for where others were found before (one ``stat`` for each such place),
and only if that fails by a walk through the tree, kubelet's parts first, bounded, and not again
within ``pause_seconds``. Whose uids are not asked for is never looked at.
"""

import heapq
import itertools
import logging
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from agent.sampling import group_names
from shared.model import Uid

MOST_DIRECTORIES: Final = 4096
"""Directories that one walk looks into; a node with 250 pods and 200 services has about 300."""

MOST_DEPTH: Final = 10
"""Of a pod below the root; rootless k3s, the deepest we know, has 7."""

PAUSE_SECONDS: Final = 10.0
_MOST_ENTRIES: Final = 8192
_MOST_PARENTS: Final = 32

logger = logging.getLogger(__name__)


def subdirectories(directory: str, most: int = _MOST_ENTRIES) -> list[str]:
    """Return the names of directories in a directory, links left out; none if it is gone."""
    try:
        with os.scandir(directory) as entries:
            found = itertools.islice(entries, most)
            return [entry.name for entry in found if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


class GroupFinder:
    """Finds pods' directories below one root.

    Args:
        root: Of the hierarchy.
        most_directories: How many one walk looks into.
        most_depth: How deep it goes.
        pause_seconds: How long after a walk the next one may begin.
    """

    def __init__(
        self,
        root: Path,
        *,
        most_directories: int = MOST_DIRECTORIES,
        most_depth: int = MOST_DEPTH,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        self._root = str(root)
        self._most_directories = most_directories
        self._most_depth = most_depth
        self._pause_seconds = pause_seconds
        self._found: dict[Uid, str] = {}
        self._parents: dict[str, None] = {}
        self._next_walk = float("-inf")
        self._warned = False

    def locate(self, uids: Collection[Uid], now: float) -> Mapping[Uid, str]:
        """Return the directories of those pods that have one, and forget all other pods.

        Args:
            uids: Of the pods.
            now: Seconds of the monotonic clock.
        """
        self._found = {uid: path for uid, path in self._found.items() if uid in uids}
        missing = {uid for uid in uids if uid not in self._found and group_names.usable(uid)}
        missing -= self._beside_others(missing)
        if missing and now >= self._next_walk:
            self._next_walk = now + self._pause_seconds
            self._walk(missing)
        return self._found

    def forget(self, uid: Uid) -> None:
        """The pod's directory is gone."""
        self._found.pop(uid, None)

    def _keep(self, uid: Uid, parent: str, path: str) -> None:
        self._found[uid] = path
        if len(self._parents) < _MOST_PARENTS:
            self._parents[parent] = None

    def _beside_others(self, missing: Collection[Uid]) -> set[Uid]:
        places = [
            (uid, parent, f"{parent}/{group_names.below(Path(parent).name, uid)}")
            for uid in missing
            for parent in self._parents
        ]
        found = {uid: (parent, path) for uid, parent, path in places if Path(path).is_dir()}
        for uid, (parent, path) in found.items():
            self._keep(uid, parent, path)
        return set(found)

    def _walk(self, wanted: Collection[Uid]) -> None:
        left = set(wanted)
        for parent, name in self._candidates():
            uid = Uid(group_names.uid_of(name) or "")
            if uid in left:
                left.discard(uid)
                self._keep(uid, parent, f"{parent}/{name}")
            if not left:
                return

    def _candidates(self) -> Iterator[tuple[str, str]]:
        """Yield parent and name of each directory, the kubelet's and shallow ones first."""
        order = itertools.count()
        queue: list[tuple[bool, int, int, str]] = [(True, 0, next(order), self._root)]
        for _ in range(self._most_directories):
            if not queue:
                return
            _, depth, _, parent = heapq.heappop(queue)
            for name in subdirectories(parent):
                yield parent, name
                if depth + 1 < self._most_depth and not _is_pod(name):
                    path = f"{parent}/{name}"
                    strange = "kube" not in path.removeprefix(self._root)
                    heapq.heappush(queue, (strange, depth + 1, next(order), path))
        if queue and not self._warned:
            self._warned = True
            logger.warning("looked for pods in %d groups and stopped", self._most_directories)


def _is_pod(name: str) -> bool:
    uid = group_names.uid_of(name)
    return uid is not None and group_names.certain(uid)
