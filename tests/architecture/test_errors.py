"""One error tree, and the drawing of it is true."""

import importlib
import re

from shared import errors
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


def test_every_error_of_the_shared_tree_is_drawn() -> None:
    """Errors of shared and extender are drawn; a program's private ones hang below a drawn one."""
    drawn = set(re.findall(r"\b\w+Error\b", errors.__doc__ or ""))
    missing = [
        name
        for name, c in _error_classes().items()
        if not {parent.__name__ for parent in (c, *c.__bases__)} & drawn
    ]
    assert missing == []
