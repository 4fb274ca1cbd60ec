"""A call of many arguments names them: five positions are the most that a reader keeps apart."""

import ast
from typing import Final

import pytest

from tests.architecture.sources import python_files, tree

MOST_POSITIONS: Final = 5


@pytest.mark.parametrize("folder", ["agent", "cli", "extender", "shared"])
def test_a_call_has_at_most_five_positional_arguments(folder: str) -> None:
    many = [
        f"{path}:{node.lineno} {ast.unparse(node.func)}"
        for path in python_files(folder)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and len(node.args) > MOST_POSITIONS
    ]
    assert many == []
