"""The store has one writer."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from extender.store.source import StoreReads
from extender.store.store import ClusterStore
from tests.architecture.sources import python_files, tree

HOLDERS: Final = {
    "extender/app/cluster_access.py": "makes it and hands it to the recorder",
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
    assert sorted(READS) == ["awaits", "generation", "has_place", "promised", "snapshot", "takes"]
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


# === The API server


UNGUARDED: Final = {
    "extender/app/listeners.py": "asks for reviews of tokens, which change nothing",
    "extender/app/main.py": "makes the client, and the guarded one over it",
    "extender/servers/tls/keeper.py": "every replica keeps the certificates that it listens with",
    "extender/writers/authorities.py": "every replica publishes the authorities that it makes",
    "extender/writers/events.py": "reports what was decided while this replica led",
    "extender/writers/leadership.py": "holds the Lease itself",
    "extender/writers/signing/signing_keys.py": "the first replica makes the signing key",
}
"""Modules that may write without the ``LeaderWriter``, and why."""

METHODS: Final = {"post", "put", "patch", "delete"}
READS_OF_MODULES: Final = {"writes.split", "keyed_data.read_secret", "keyed_data.read_config_map"}
WRITING_MODULES: Final = {"writes", "moving", "keyed_data", "lease_holding"}


def test_api_writes_go_through_the_leader_writer() -> None:
    unguarded = {
        str(path): [ast.unparse(call.func) for call in _api_writes(path)]
        for path in python_files("extender")
        if "KubeClient" in set(_imported(path)) and path.name != "leader_writer.py"
    }
    found = {path: calls for path, calls in unguarded.items() if calls and path not in UNGUARDED}
    assert found == {}


def test_a_module_that_writes_names_the_client_it_writes_with() -> None:
    found = [
        str(path)
        for path in python_files("extender")
        if any(_api_writes(path))
        and not {"KubeClient", "LeaderWriter"} & set(_imported(path))
        and path.name != "leader_writer.py"
    ]
    assert found == []


def _api_writes(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, of = node.func.attr, ast.unparse(node.func.value)
            by_module = of in WRITING_MODULES and f"{of}.{name}" not in READS_OF_MODULES
            if by_module or (name in METHODS and of.endswith("client")):
                yield node
