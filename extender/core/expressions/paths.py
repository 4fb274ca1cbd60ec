"""What an expression reads of a device, so that devices that are alike in it share its result."""

from collections.abc import Iterator
from typing import Final

from extender.core.expressions.syntax import Call, ListOf, Literal, MapOf, Name, Node, Select

Path = tuple[str, ...]
"""``("driver",)``, ``("attributes", domain, name)``, or shorter where more is read."""

EVERYTHING: Final[Path] = ()


def read_by(tree: Node) -> frozenset[Path]:
    """Return the parts of ``device`` that an expression can read."""
    return frozenset(_paths(tree))


def _paths(tree: Node) -> Iterator[Path]:
    chain = _chain(tree)
    if chain is not None:
        yield chain
        return
    for part in _parts(tree):
        yield from _paths(part)


def _chain(tree: Node) -> Path | None:
    """Return the path of ``device.a["b"].c``; None for a tree that is not of that form."""
    if isinstance(tree, Name):
        return EVERYTHING if tree.name == "device" else None
    if isinstance(tree, Select):
        above = _chain(tree.operand)
        return None if above is None else (*above, tree.field)
    if isinstance(tree, Call) and tree.function in {"_[_]", "_[?_]"}:
        above, key = _chain(tree.arguments[0]), tree.arguments[1]
        if above is not None and isinstance(key, Literal) and isinstance(key.value, str):
            return (*above, key.value)
    return None


def _parts(tree: Node) -> Iterator[Node]:
    if isinstance(tree, Select):
        yield tree.operand
    elif isinstance(tree, ListOf):
        yield from tree.items
    elif isinstance(tree, MapOf):
        for pair in tree.pairs:
            yield from pair
    elif isinstance(tree, Call):
        yield from tree.arguments
        if tree.target is not None:
            yield tree.target
