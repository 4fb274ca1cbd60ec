"""Which test modules a change can reach."""

import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.gate import graph, inputs
from tests.gate.graph import Graph

OWN_MARK: Final = "mark.devcluster"
OWN_FILES: Final = ("devcluster/", "tests/")
"""Tests with that mark test the devcluster: only a change of these files reaches them."""
CONCERNS: Final = Path(__file__).with_name("concerns.toml")
Folders = tuple[str, ...]


@dataclass(frozen=True)
class Concerns:
    """The tests whose claims are about a few folders.

    Attributes:
        by_test: The folders of a test module; a module that is not named concerns all.
    """

    by_test: Mapping[str, Folders] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path = CONCERNS) -> "Concerns":
        """Read the table."""
        tables = tomllib.loads(file.read_text()).values()
        return cls({test: tuple(one["folders"]) for one in tables for test in one["tests"]})

    def folders(self, path: str, text: str) -> Folders:
        """Return where a change must be to run the test module; empty: anywhere."""
        if OWN_MARK in text:
            return OWN_FILES
        named = self.by_test.get(path)
        return (*named, *OWN_FILES) if named is not None else ()


@dataclass(frozen=True)
class Selection:
    """The test modules that run, and those that do not.

    Attributes:
        why_all: Why every test runs; empty if only some do.
    """

    chosen: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    why_all: str = ""

    def marked(self, marks: tuple[str, ...], root: Path) -> list[str]:
        """Return the chosen modules that have one of the marks, or whose conftest has."""
        return [path for path in self.chosen if any(has_mark(root, path, one) for one in marks)]

    def summary(self) -> list[str]:
        """Return lines for people: what is left out, by folder."""
        if self.why_all:
            return [f"all test modules: {self.why_all}"]
        total = Counter(_folder(path) for path in (*self.chosen, *self.left_out))
        absent = Counter(_folder(path) for path in self.left_out)
        lines = [f"  {folder}: {absent[folder]} of {total[folder]}" for folder in sorted(absent)]
        count = len(self.chosen)
        head = f"{count} of {total.total()} test modules; the change cannot reach the others:"
        return [head, *lines]


def select(changed: Sequence[str], found: Graph, concerns: Concerns | None = None) -> Selection:
    """Return what runs for these changed files; a path that is not there any more was deleted."""
    concerns = concerns or Concerns()
    tests = tuple(sorted(path for path in found.texts if is_test(path)))
    firsts: dict[str, set[str]] = {}
    for path in changed:
        used = _first_reached(path, found)
        if used is None:
            return Selection(tests, why_all=f"every test may use {path}")
        firsts[path] = used
    reached: dict[Folders, frozenset[str]] = {}
    chosen = set()
    for test in tests:
        folders = concerns.folders(test, found.texts[test])
        if folders not in reached:
            starts = (used for path, used in firsts.items() if path.startswith(folders or ""))
            reached[folders] = found.reached(set().union(*starts))
        if test in reached[folders]:
            chosen.add(test)
    return Selection(tuple(sorted(chosen)), tuple(sorted(set(tests) - chosen)))


def every(root: Path) -> Selection:
    """Return all test modules."""
    return Selection(tuple(path for path in graph.files(root) if is_test(path)))


def since(revision: str, root: Path) -> Selection:
    """Return what runs for the difference of the working tree to where it left the revision."""
    return select(changed_since(revision, root), graph.build(root), Concerns.read())


def changed_since(revision: str, root: Path) -> list[str]:
    """Return the files that differ, those that git does not know yet among them."""
    command = ("git", "diff", "--name-only", "--no-renames", "--merge-base", revision)
    differ = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    command = ("git", "ls-files", "--others", "--exclude-standard")
    new = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return sorted({*differ.stdout.splitlines(), *new.stdout.splitlines()})


def is_test(path: str) -> bool:
    """Return True for a module that the gate collects."""
    name = path.rpartition("/")[2]
    return name.startswith("test_") and path.startswith("tests/") and "/frameworks/" not in path


def has_mark(root: Path, path: str, mark: str) -> bool:
    """Return True if the module, or a conftest above it but the uppermost, uses the mark."""
    folders = [folder for folder in (root / path).parents if root / "tests" in folder.parents]
    files = [root / path, *(folder / "conftest.py" for folder in folders)]
    return any(f"mark.{mark}" in file.read_text() for file in files if file.exists())


def _first_reached(path: str, found: Graph) -> set[str] | None:
    """Return the Python files that a change of this file meets first; None if all tests may."""
    rows = inputs.rows(path)
    is_python = path.endswith(".py")
    if is_python and rows == {inputs.PYTHON} and not _has_place(path, found):
        return None
    readers = found.readers.of(path)
    if readers is None:
        return None
    reached = set(readers)
    if path in found.texts:
        reached.add(path)
    elif is_python:
        reached |= _naming(graph.module_name(path), found)
    if path.endswith(("/conftest.py", "/__init__.py")):
        folder = path.rpartition("/")[0] + "/"
        reached |= {other for other in found.texts if other.startswith(folder)}
    return reached


def _has_place(path: str, found: Graph) -> bool:
    """Return True for a Python file in a package that other files are in, too."""
    top = path.partition("/")[0] + "/"
    return "/" in path and any(other.startswith(top) for other in found.texts if other != path)


def _naming(module: str, found: Graph) -> set[str]:
    """Return the files that still name a module that is gone."""
    package, _, name = module.rpartition(".")
    imported = rf"from {re.escape(package)} import \(?[^)\n]*(?:\n[^)]*)?\b{name}\b"
    pattern = re.compile(rf"\b{re.escape(module)}\b|{imported}")
    return {path for path, text in found.texts.items() if pattern.search(text)}


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
