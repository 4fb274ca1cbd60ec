"""The store has one writer."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from extender.store.source import StoreReads
from extender.store.store import ClusterStore
from tests.architecture.sources import python_files, tree

HOLDERS: Final = {
    "extender/app/main.py": "makes it and hands it to the recorder",
    "extender/servers/scheduler/answers.py": "reads it",
    "extender/writers/decision_log/recorder.py": "writes every change to the decision log",
}
"""Modules beside the store's own that name the class; all others get a ``SnapshotSource``."""

READS: Final = {name for name in dir(StoreReads) if not name.startswith("_")}
WRITES: Final = {
    name
    for name, value in vars(ClusterStore).items()
    if callable(value) and not name.startswith("_") and name not in READS
}


def test_the_reading_side_of_the_store_is_a_part_of_it() -> None:
    assert sorted(READS) == ["generation", "has_seat", "snapshot", "takes"]
    assert READS - {"generation"} <= set(vars(ClusterStore))
    assert {"apply", "assume", "report", "forget"} <= WRITES


def test_only_the_recorder_holds_the_store_itself() -> None:
    holders = {
        str(path)
        for path in python_files("extender")
        if path.parts[1] != "store" and "ClusterStore" in set(_imported(path))
    }
    assert holders <= set(HOLDERS)


def test_nothing_writes_to_the_store_past_the_recorder() -> None:
    found = [
        f"{path}:{node.lineno} {node.func.attr}"
        for path in python_files("extender")
        if path.parts[1] != "store" and path.name != "recorder.py"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in WRITES
        and ast.unparse(node.func.value).endswith("store")
    ]
    assert found == []


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)
