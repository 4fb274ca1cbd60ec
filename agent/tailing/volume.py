"""From what an annotation says to files of the shared volume.

A path may have ``*`` (and ``?``, ``[…]``) in its last two parts. Whatever is not a plain file in
plain directories below the volume's root is refused: what one user writes must not make the agent
read what is another's.
"""

import fnmatch
import heapq
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from agent.tailing.opening import directory, problem
from shared import labels
from shared.errors import InputError

MOST_FILES: Final = 64
"""Files that one pattern may name; of more, the first by name."""
MOST_FOLDERS: Final = 64
"""Directories that a pattern in the part before may name; of more, those with the highest numbers
in their names: the newest checkpoints."""
MOST_NAMES: Final = 10_000
"""Names that are looked at for one part of a path, in all its directories together."""
LONGEST_NAME: Final = 255
"""Bytes of a name on Linux."""
MOST_WILDCARDS: Final = 16
"""``*``, ``?`` and ``[`` in one part of a path."""
_DIGITS: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_FIELD: Final = f"annotation {labels.METRICS}, path"
_PATTERN_PARTS: Final = 2
_MAGIC: Final = frozenset("*?[")


def resolve(root: Path, relative: str, *, field: str = _FIELD) -> tuple[Path, ...]:
    """Return the files that a path or pattern below the volume names, in order of their names.

    Nothing is there yet: none. Names that begin with a dot only match a pattern that does.

    Args:
        root: Where the volume is mounted.
        relative: What ``shared.places`` gives.
        field: What is named if it cannot be used.

    Raises:
        InputError: It leads out of the volume, has a pattern before its last two parts, goes
            through a link, names something that is not a file, or may not be read. A match of a
            pattern that is a link or not a file is passed over, unless there is no other.
    """
    parts = PurePosixPath(relative).parts
    if not parts or ".." in parts or parts[0] == "/" or "\0" in relative:
        raise InputError(field, relative, "a path below the root of the volume")
    fixed = next((i for i, part in enumerate(parts) if _is_pattern(part)), len(parts) - 1)
    if fixed < len(parts) - _PATTERN_PARTS:
        raise InputError(field, relative, "a path with a pattern only in its last two parts")
    if any(len(part) > LONGEST_NAME or _wildcards(part) > MOST_WILDCARDS for part in parts):
        expected = f"parts of at most {LONGEST_NAME} characters and {MOST_WILDCARDS} wildcards each"
        raise InputError(field, relative, expected)
    found = _Found(root, field, relative)
    folders = found.folders(root.joinpath(*parts[:fixed]), parts[fixed:-1])
    return found.files(folders, parts[-1])


class _Found:
    """One resolution: what matched, and why something that matched was refused."""

    def __init__(self, root: Path, field: str, relative: str) -> None:
        self._root = root
        self._field = field
        self._relative = relative
        self._refused = ""
        self._names_left = MOST_NAMES

    def folders(self, start: Path, patterns: tuple[str, ...]) -> list[Path]:
        found = [start]
        for pattern in patterns:
            self._names_left = MOST_NAMES
            inner = [p for folder in found for p in self._matches(folder, pattern, stat.S_ISDIR)]
            found = sorted(heapq.nlargest(MOST_FOLDERS, inner, key=_number))
        return found

    def files(self, folders: list[Path], pattern: str) -> tuple[Path, ...]:
        self._names_left = MOST_NAMES
        found = [p for folder in folders for p in self._matches(folder, pattern, stat.S_ISREG)]
        if not found and self._refused:
            expected = f"a path of plain directories and files: {self._refused}"
            raise InputError(self._field, self._relative, expected)
        return tuple(found[:MOST_FILES])

    def _matches(self, folder: Path, pattern: str, is_wanted: Callable[[int], bool]) -> list[Path]:
        try:
            with directory(self._root, folder, listing=_is_pattern(pattern)) as descriptor:
                names = self._names(descriptor, pattern)
                modes = [(folder / name, _mode(descriptor, name)) for name in names]
        except FileNotFoundError:
            return []
        except OSError as error:
            self._refused = problem(error, folder)
            return []
        for path, mode in modes:
            if mode is not None and not is_wanted(mode):
                self._refused = f"{path} is {_kind(mode)}"
        return [path for path, mode in modes if mode is not None and is_wanted(mode)]

    def _names(self, descriptor: int, pattern: str) -> list[str]:
        if not _is_pattern(pattern):
            return [pattern]
        # Not fnmatchcase: its cache would keep the patterns of 32,768 pods that are gone.
        matches = re.compile(fnmatch.translate(pattern)).match
        hidden = pattern.startswith(".")
        with os.scandir(descriptor) as entries:
            found = (name for name in self._bounded(entries) if matches(name))
            return sorted(n for n in found if hidden or n[0] != ".")

    def _bounded(self, entries: "Iterator[os.DirEntry[str]]") -> Iterator[str]:
        for entry in entries:
            if self._names_left == 0:
                self._refused = f"of {MOST_NAMES} names in that place, the most that are looked at"
                return
            self._names_left -= 1
            yield entry.name


def _number(path: Path) -> tuple[int, str]:
    numbers = _DIGITS.findall(path.name)
    return (int(numbers[-1]) if numbers else -1, path.name)


def _wildcards(part: str) -> int:
    return sum(part.count(one) for one in _MAGIC)


def _is_pattern(part: str) -> bool:
    return bool(_MAGIC & set(part))


def _mode(descriptor: int, name: str) -> int | None:
    try:
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a link: links are not followed"
    return "a directory" if stat.S_ISDIR(mode) else "not a directory or regular file"
