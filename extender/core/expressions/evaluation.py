"""The value of an expression for one device, in a bounded number of steps.

Logical operators absorb errors as CEL has it: ``false && error`` is false. Integers have 64 bits.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from extender.core.expressions import functions
from extender.core.expressions.errors import EvaluationError, UnsupportedError
from extender.core.expressions.syntax import Call, ListOf, Literal, MapOf, Name, Node, Select
from extender.core.expressions.values import NONE, Domains, Optional, Semver

MOST_STEPS: Final = 256
"""Parts that are evaluated, and elements that are looked at: a quarter of a millisecond. Selectors
that people write take less than sixty; the API server stops at a cost of a million."""

_MACROS: Final = frozenset({"all", "exists", "exists_one", "filter", "map"})


class Scope:
    """The variables of an expression, and how many steps are left.

    Args:
        variables: By name.
    """

    def __init__(self, variables: Mapping[str, object]) -> None:
        self.variables = dict(variables)
        self._left = MOST_STEPS

    @property
    def taken(self) -> int:
        """How many steps were taken."""
        return MOST_STEPS - self._left

    def step(self, count: int = 1) -> None:
        """Take steps.

        Raises:
            UnsupportedError: None are left.
        """
        self._left -= count
        if self._left < 0:
            raise UnsupportedError(f"more than {MOST_STEPS} steps")


def holds(tree: Node, scope: Scope) -> bool:
    """Return whether an expression is true.

    Raises:
        EvaluationError: It has no value, or one that is not true or false.
        UnsupportedError: It uses what we do not read, or takes too many steps.
    """
    value = _value(tree, scope)
    if not isinstance(value, bool):
        raise EvaluationError("the value is not true or false")
    return value


def _value(tree: Node, scope: Scope) -> object:
    scope.step()
    if isinstance(tree, Literal):
        return tree.value
    if isinstance(tree, Name):
        if tree.name not in scope.variables:
            raise UnsupportedError(f"the name {tree.name}")
        return scope.variables[tree.name]
    if isinstance(tree, Select):
        return _selected(tree, scope)
    if isinstance(tree, ListOf):
        return [_value(item, scope) for item in tree.items]
    if isinstance(tree, MapOf):
        return {_key(_value(key, scope)): _value(value, scope) for key, value in tree.pairs}
    return _called(tree, scope)


def _key(value: object) -> object:
    if not isinstance(value, str | int):
        raise EvaluationError("a key of a map is neither a text nor an integer")
    return value


def _selected(tree: Select, scope: Scope) -> object:
    operand = _value(tree.operand, scope)
    if isinstance(operand, Optional):
        return _optional(operand, tree.field)
    if not isinstance(operand, Mapping):
        raise EvaluationError(f"no field {tree.field}: not a map")
    if tree.test:
        if isinstance(operand, Domains):
            raise UnsupportedError("has() of a domain")
        return tree.field in operand
    if tree.optional:
        return _optional(Optional(True, operand), tree.field)
    return _item(operand, tree.field)


def _optional(operand: Optional, key: object) -> Optional:
    """Return the optional value under a key; a value that is missing has none."""
    if not operand.present:
        return NONE
    try:
        return Optional(True, _item(operand.value, key))
    except EvaluationError:
        return NONE


def _item(operand: object, key: object) -> object:
    """Return ``operand[key]``."""
    if isinstance(operand, Domains) and isinstance(key, str):
        return operand[key]
    if isinstance(operand, Mapping):
        if isinstance(key, bool) or key not in operand:
            raise EvaluationError(f"no such key: {str(key)[:64]}")
        return operand[key]
    if isinstance(operand, list) and isinstance(key, int) and not isinstance(key, bool):
        if not 0 <= key < len(operand):
            raise EvaluationError(f"index {key} is out of range")
        return operand[key]
    raise EvaluationError("neither a list with an integer nor a map")


def _called(tree: Call, scope: Scope) -> object:
    name, arguments = tree.function, tree.arguments
    if name in _LAZY:
        return _LAZY[name](arguments, scope)
    library = tree.target.name if isinstance(tree.target, Name) else ""
    if library in _LIBRARIES:
        return _LIBRARIES[library](name, arguments, scope)
    if tree.target is not None and name in _MACROS:
        return _macro(name, _value(tree.target, scope), arguments, scope)
    targets = () if tree.target is None else (tree.target,)
    values = [_value(argument, scope) for argument in (*targets, *arguments)]
    if name in {"_[_]", "_[?_]"}:
        return _indexed(values[0], values[1], optional=name == "_[?_]")
    return functions.call(name, values, member=bool(targets), step=scope.step)


def _indexed(operand: object, key: object, *, optional: bool) -> object:
    if isinstance(operand, Optional):
        return _optional(operand, key)
    return _optional(Optional(True, operand), key) if optional else _item(operand, key)


def _bound(name: str, arguments: tuple[Node, ...], scope: Scope) -> object:
    """``cel.bind(name, value, expression)``."""
    if (
        name != "bind"
        or len(arguments) != len(("name", "value", "in"))
        or not isinstance(arguments[0], Name)
    ):
        raise UnsupportedError("cel.bind() without a name, a value and an expression")
    value = _value(arguments[1], scope)
    return _with(scope, arguments[0].name, value, arguments[2])


def _with(scope: Scope, name: str, value: object, tree: Node) -> object:
    """Return the value of a tree with one variable more."""
    outer, scope.variables = scope.variables, {**scope.variables, name: value}
    try:
        return _value(tree, scope)
    finally:
        scope.variables = outer


def _made_optional(name: str, arguments: tuple[Node, ...], scope: Scope) -> Optional:
    if name == "none" and not arguments:
        return NONE
    if name == "of" and len(arguments) == 1:
        return Optional(True, _value(arguments[0], scope))
    raise UnsupportedError(f"optional.{name}()")


def _macro(name: str, over: object, arguments: tuple[Node, ...], scope: Scope) -> object:
    if len(arguments) != len(("name", "of each")) or not isinstance(arguments[0], Name):
        raise UnsupportedError(f"{name}() without a name and an expression")
    if not isinstance(over, list | Mapping):
        raise EvaluationError(f"{name}() of neither a list nor a map")
    variable, each = arguments[0].name, arguments[1]
    elements = list(over)
    if name in {"filter", "map", "exists_one"}:
        results = [_with(scope, variable, element, each) for element in elements]
        if name == "map":
            return results
        chosen = [e for e, r in zip(elements, results, strict=True) if functions.true(r)]
        return chosen if name == "filter" else len(chosen) == 1
    sought = name == "exists"
    return _folded([partial(_with, scope, variable, e, each) for e in elements], sought=sought)


def _folded(parts: list[Callable[[], object]], *, sought: bool) -> bool:
    """Return ``sought`` if any part has that value, else its opposite, or the error of a part."""
    error: EvaluationError | None = None
    for part in parts:
        try:
            if functions.true(part()) is sought:
                return sought
        except EvaluationError as one:
            error = one
    if error is not None:
        raise error
    return not sought


def _and(arguments: tuple[Node, ...], scope: Scope) -> object:
    return _folded([partial(_value, a, scope) for a in arguments], sought=False)


def _or(arguments: tuple[Node, ...], scope: Scope) -> object:
    return _folded([partial(_value, a, scope) for a in arguments], sought=True)


def _chosen(arguments: tuple[Node, ...], scope: Scope) -> object:
    condition, yes, no = arguments
    return _value(yes if functions.true(_value(condition, scope)) else no, scope)


_LIBRARIES: Final[Mapping[str, Callable[[str, tuple[Node, ...], Scope], object]]] = {
    "cel": _bound,
    "optional": _made_optional,
}

_LAZY: Final[Mapping[str, Callable[[tuple[Node, ...], Scope], object]]] = {
    "_&&_": _and,
    "_||_": _or,
    "_?_:_": _chosen,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """A device as expressions see it.

    Attributes:
        driver: Of its slice; the domain of names without one.
        attributes: Values by qualified name; a version is a ``Semver``.
        capacity: Quantities by qualified name.
    """

    driver: str
    attributes: tuple[tuple[str, bool | int | str | Semver], ...]
    capacity: tuple[tuple[str, object], ...]

    def variables(self) -> Mapping[str, object]:
        """Return what an expression can name."""
        return {
            "device": {
                "driver": self.driver,
                "allowMultipleAllocations": False,
                "attributes": self._by_domain(self.attributes),
                "capacity": self._by_domain(self.capacity),
            }
        }

    def _by_domain(self, named: tuple[tuple[str, object], ...]) -> Domains:
        domains = Domains()
        for name, value in named:
            domain, _, own = name.rpartition("/")
            held = domains.setdefault(domain or self.driver, {})
            if isinstance(held, dict):
                held[own] = value
        return domains
