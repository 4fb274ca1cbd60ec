"""The control groups of pods: their names, and where they are for given uids.

==============================================================  ====================================
name of the pod's directory                                     created by
==============================================================  ====================================
``pod<uid>``                                                    kubelet, driver cgroupfs; the
                                                                devcluster's process nodes
``[<root>-]kubepods[-<qos>]-pod<uid, _ for ->.slice``           kubelet, driver systemd; ``<root>``
                                                                is ``kubelet`` in kind
==============================================================  ====================================

``<qos>`` is ``burstable`` or ``besteffort``, and missing for Guaranteed pods. The directories below
(``cri-containerd-<id>.scope``, ``crio-<id>.scope``, ``<id>``) are the pod's containers, whatever
the runtime calls them. A static pod's uid has 32 hexadecimal digits and no ``-``.

A pod's directory is looked for where others were found before (one ``stat`` for each such place).
Only if that fails, the tree is walked: the kubelet's parts first, bounded, and not again within
``pause_seconds``. Directories of pods whose uids were not requested are not read.

Source:
    kubernetes 1.36 ``pkg/kubelet/cm/cgroup_manager_linux.go`` (``ToSystemd``, ``escapeSystemd``)
    and ``pod_container_manager_linux.go`` (``GetPodContainerName``).
"""

import heapq
import itertools
import logging
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from shared.model import Uid

_UID: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_CERTAIN: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")
_SLICE: Final = ".slice"
_POD: Final = re.compile(
    r"pod(?P<plain>[A-Za-z0-9-]+)"
    r"|(?:.+-)?kubepods(?:-burstable|-besteffort)?-pod(?P<escaped>[A-Za-z0-9_]+)\.slice"
)
MOST_DIRECTORIES: Final = 4096
"""Directories that one walk reads; a node with 250 pods and 200 services has about 300."""
MOST_DEPTH: Final = 10
"""Depth of a pod below the root; rootless k3s, the deepest we know, has 7."""
PAUSE_SECONDS: Final = 10.0
_MOST_ENTRIES: Final = 8192
_MOST_PARENTS: Final = 32
logger = logging.getLogger(__name__)


def is_usable(uid: str) -> bool:
    """Return True if this can be a pod's uid; anything else never becomes a part of a path."""
    return _UID.fullmatch(uid) is not None


def uid_of(directory: str) -> str | None:
    """Return the uid in the name of a pod's directory; None if it is not a pod's.

    In the name of a ``.slice``, ``_`` stands for ``-``: no uid has ``_``.
    """
    match = _POD.fullmatch(directory)
    if match is None:
        return None
    uid = match["plain"] or match["escaped"].replace("_", "-")
    return uid if is_usable(uid) else None


def is_certain(uid: str) -> bool:
    """Return True if Kubernetes makes such uids; ``pods`` is hardly the pod of uid ``s``."""
    return _CERTAIN.fullmatch(uid) is not None


def directory_name(parent: str, uid: str) -> str:
    """Return the name that the kubelet gives to a pod's directory below ``parent``."""
    if parent.endswith(_SLICE):
        return f"{parent.removesuffix(_SLICE)}-pod{uid.replace('-', '_')}{_SLICE}"
    return f"pod{uid}"


def subdirectories(directory: str, most: int = _MOST_ENTRIES) -> list[str]:
    """Return the names of the directories in a directory, without links; empty if it is gone."""
    try:
        with os.scandir(directory) as entries:
            limited = itertools.islice(entries, most)
            return [entry.name for entry in limited if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


class GroupFinder:
    """Finds pods' directories below one root.

    Args:
        root: Root of the hierarchy.
        most_directories: Directories that one walk reads.
        most_depth: Depth of a walk.
        pause_seconds: Time from one walk to the next.
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
        """Return the directories of the pods that have one, and forget all other pods.

        Args:
            uids: The pods' uids.
            now: Seconds of the monotonic clock.
        """
        self._found = {uid: path for uid, path in self._found.items() if uid in uids}
        missing = {uid for uid in uids if uid not in self._found and is_usable(uid)}
        missing -= self._find_beside_others(missing)
        if missing and now >= self._next_walk:
            self._next_walk = now + self._pause_seconds
            self._walk(missing)
        return self._found

    def forget(self, uid: Uid) -> None:
        """Forget the directory of a pod: it is gone."""
        self._found.pop(uid, None)

    def _keep(self, uid: Uid, parent: str, path: str) -> None:
        self._found[uid] = path
        if len(self._parents) < _MOST_PARENTS:
            self._parents[parent] = None

    def _find_beside_others(self, missing: Collection[Uid]) -> set[Uid]:
        places = [
            (uid, parent, f"{parent}/{directory_name(Path(parent).name, uid)}")
            for uid in missing
            for parent in self._parents
        ]
        present = {uid: (parent, path) for uid, parent, path in places if Path(path).is_dir()}
        for uid, (parent, path) in present.items():
            self._keep(uid, parent, path)
        return set(present)

    def _walk(self, uids: Collection[Uid]) -> None:
        missing = set(uids)
        for parent, name in self._candidates():
            uid = Uid(uid_of(name) or "")
            if uid in missing:
                missing.discard(uid)
                self._keep(uid, parent, f"{parent}/{name}")
            if not missing:
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
                    is_foreign = "kube" not in path.removeprefix(self._root)
                    heapq.heappush(queue, (is_foreign, depth + 1, next(order), path))
        if queue and not self._warned:
            self._warned = True
            logger.warning("looked for pods in %d groups and stopped", self._most_directories)


def _is_pod(name: str) -> bool:
    uid = uid_of(name)
    return uid is not None and is_certain(uid)
