"""Resolves the path of an annotation to files of the shared volume.

A path may have ``*`` (and ``?``, ``[…]``) in its last three parts. Everything but a regular file in
directories below the volume's root is refused: the annotation of one user must not make the agent
read the files of another.
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
"""Files of one pattern; of more, the first by name are used."""
MOST_FOLDERS: Final = 64
"""Directories that a pattern may match; of more, those with the highest numbers in their names are
used: the newest checkpoints."""
MOST_NAMES: Final = 10_000
"""Names that are read for one part of a path, in all its directories together."""
LONGEST_NAME: Final = 255
"""Bytes of a name on Linux."""
MOST_WILDCARDS: Final = 16
"""``*``, ``?`` and ``[`` in one part of a path."""
_DIGITS: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_FIELD: Final = f"annotation {labels.METRICS}, path"
_PATTERN_PARTS: Final = 3
_MAGIC: Final = frozenset("*?[")


def resolve(root: Path, relative: str, *, field: str = _FIELD) -> tuple[Path, ...]:
    """Return the files that match a path or pattern below the volume, sorted by name.

    Empty if nothing exists yet. Names that begin with a dot only match a pattern that does.

    Args:
        root: Where the volume is mounted.
        relative: A result of ``shared.places``.
        field: The field that an error names.

    Raises:
        InputError: The path leads out of the volume, has a pattern before its last three parts,
            goes through a link, is not a file, or may not be read. A match of a pattern that is a
            link or not a file is skipped, unless there is no other.
    """
    parts = PurePosixPath(relative).parts
    if not parts or ".." in parts or parts[0] == "/" or "\0" in relative:
        raise InputError(field, relative, "a path below the root of the volume")
    fixed = next((i for i, part in enumerate(parts) if _is_pattern(part)), len(parts) - 1)
    if fixed < len(parts) - _PATTERN_PARTS:
        raise InputError(field, relative, "a path with a pattern only in its last three parts")
    if any(len(part) > LONGEST_NAME or _wildcards(part) > MOST_WILDCARDS for part in parts):
        expected = f"parts of at most {LONGEST_NAME} characters and {MOST_WILDCARDS} wildcards each"
        raise InputError(field, relative, expected)
    resolution = _Resolution(root, field, relative)
    folders = resolution.folders(root.joinpath(*parts[:fixed]), parts[fixed:-1])
    return resolution.files(folders, parts[-1])


class _Resolution:
    """One resolution: the matches, and why a match was refused."""

    def __init__(self, root: Path, field: str, relative: str) -> None:
        self._root = root
        self._field = field
        self._relative = relative
        self._refused = ""
        self._names_left = MOST_NAMES

    def folders(self, start: Path, patterns: tuple[str, ...]) -> list[Path]:
        folders = [start]
        for pattern in patterns:
            self._names_left = MOST_NAMES
            inner = [p for folder in folders for p in self._matches(folder, pattern, stat.S_ISDIR)]
            folders = sorted(heapq.nlargest(MOST_FOLDERS, inner, key=_number))
        return folders

    def files(self, folders: list[Path], pattern: str) -> tuple[Path, ...]:
        self._names_left = MOST_NAMES
        files = [p for folder in folders for p in self._matches(folder, pattern, stat.S_ISREG)]
        if not files and self._refused:
            expected = f"a path of plain directories and files: {self._refused}"
            raise InputError(self._field, self._relative, expected)
        return tuple(files[:MOST_FILES])

    def _matches(self, folder: Path, pattern: str, is_kind: Callable[[int], bool]) -> list[Path]:
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
            if mode is not None and not is_kind(mode):
                self._refused = f"{path} is {_kind(mode)}"
        return [path for path, mode in modes if mode is not None and is_kind(mode)]

    def _names(self, descriptor: int, pattern: str) -> list[str]:
        if not _is_pattern(pattern):
            return [pattern]
        # Not fnmatchcase: its cache would keep the patterns of 32,768 deleted pods.
        matches = re.compile(fnmatch.translate(pattern)).match
        hidden = pattern.startswith(".")
        with os.scandir(descriptor) as entries:
            names = (name for name in self._bounded(entries) if matches(name))
            return sorted(n for n in names if hidden or n[0] != ".")

    def _bounded(self, entries: "Iterator[os.DirEntry[str]]") -> Iterator[str]:
        for entry in entries:
            if self._names_left == 0:
                self._refused = f"not among the {MOST_NAMES} names that are read in its directory"
                return
            self._names_left -= 1
            yield entry.name


def _number(path: Path) -> tuple[int, str]:
    numbers = _DIGITS.findall(path.name)
    return (int(numbers[-1]) if numbers else -1, path.name)


def _wildcards(part: str) -> int:
    return sum(part.count(sign) for sign in _MAGIC)


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
