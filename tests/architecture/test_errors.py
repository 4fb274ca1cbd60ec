"""One error tree, and the drawing of it is true."""

import importlib
import re
from pathlib import Path

from shared.errors import ShuntyardError
from tests.architecture.sources import PRODUCT, module_name, python_files


def _error_classes() -> dict[str, type[Exception]]:
    found: dict[str, type[Exception]] = {}
    for path in python_files(*PRODUCT):
        if path.name == "__main__.py":
            continue
        module = importlib.import_module(module_name(path))
        for name, value in vars(module).items():
            if (
                isinstance(value, type)
                and issubclass(value, BaseException)
                and value.__module__ == module.__name__
            ):
                found[f"{module.__name__}.{name}"] = value
    return found


def test_every_error_has_our_root_as_ancestor() -> None:
    strangers = [n for n, c in _error_classes().items() if not issubclass(c, ShuntyardError)]
    assert strangers == []


def test_every_error_ends_in_error() -> None:
    assert [name for name in _error_classes() if not name.endswith("Error")] == []


def test_every_error_is_drawn_in_a_tree() -> None:
    """The trunk is drawn in shared/errors.py, a branch in the module that holds its errors."""
    modules = [importlib.import_module(module_name(p)) for p in python_files(*PRODUCT) if _draws(p)]
    drawn = set(re.findall(r"\b\w+Error\b", "\n".join(module.__doc__ or "" for module in modules)))
    assert [n for n in _error_classes() if n.rpartition(".")[2] not in drawn] == []


def _draws(path: Path) -> bool:
    return "└──" in path.read_text(encoding="utf-8")
