"""Owners are looked up in one way, which compares namespaces (defect A1)."""

import ast

from extender.core.cluster.owner_index import OwnerIndex
from tests.architecture.sources import python_files, tree

MODULE = "extender/core/cluster/owner_index.py"


def test_the_index_of_owners_is_no_mapping() -> None:
    assert not {"get", "__getitem__", "__contains__", "keys", "values", "items"} & set(
        dir(OwnerIndex)
    )


def test_nothing_else_sees_owners_by_uid() -> None:
    seen = [
        f"{path}:{node.lineno}"
        for path in python_files("extender")
        if str(path) != MODULE
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and node.attr == "_owners_by_uid"
    ]
    assert seen == []
