"""The files that the architecture tests read."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.root import ROOT

PRODUCT = ("agent", "extender", "shared", "cli", "devcluster", "monitoring", "simulator")
CORE = ("extender/core", "extender/store")


def python_files(*folders: str) -> list[Path]:
    """Python files below the folders, relative to the root, in path order."""
    found = [p for f in folders for p in (ROOT / f).rglob("*.py") if (ROOT / f).is_dir()]
    return sorted(p.relative_to(ROOT) for p in found)


def module_name(path: Path) -> str:
    """``extender/app/main.py`` → ``extender.app.main``; a package for its ``__init__.py``."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), filename=str(path))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from ``def`` to the end, without the docstring: a rule written out is not length."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines
