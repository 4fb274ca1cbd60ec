"""Functions and operators of CEL on values, the members that Kubernetes adds among them.

Source:
    github.com/google/cel-spec, doc/langdef.md, "List of Standard Definitions"; cel-go ext strings;
    k8s.io/apiserver v0.36.3, pkg/cel/library ``quantity.go``, ``semverlib.go``, ``regex.go``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from extender.core.expressions import patterns
from extender.core.expressions.errors import EvaluationError, UnsupportedError
from extender.core.expressions.values import Optional, Quantity, Semver

_LONGEST_TEXT: Final = 4096
"""Characters that an expression may put together."""

Function = Callable[..., object]


def call(name: str, values: list[object], *, member: bool, step: Callable[[int], None]) -> object:
    """Return what a function or operator gives; ``member``: the first value is its target.

    Raises:
        EvaluationError: There is none of that name for values of these types.
        UnsupportedError: We do not read the function.
    """
    if name in _OPERATORS:
        step(_size_of(values))
        return _OPERATORS[name](*values)
    table = _MEMBERS if member else _GLOBAL
    known = table.get(name)
    if known is None:
        raise UnsupportedError(f"the function {name}()")
    step(_size_of(values))
    for types, function in known:
        if len(types) == len(values) and all(map(_is, values, types)):
            return function(*values)
    raise EvaluationError(f"no {name}() for these values")


def true(value: object) -> bool:
    """Return a truth value.

    Raises:
        EvaluationError: The value is something else.
    """
    if not isinstance(value, bool):
        raise EvaluationError("neither true nor false")
    return value


def _size_of(values: Sequence[object]) -> int:
    """Return how much a function has to look at, in steps."""
    return 1 + sum(len(v) // 16 for v in values if isinstance(v, str | list | dict))


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not (isinstance(value, bool) and kind is int)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(left: object, right: object) -> bool:
    """Values of different types are not equal, but numbers are by their amount."""
    if _number(left) and _number(right):
        return left == right
    if type(left) is not type(right):
        return False
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[k], right[k]) for k in left)
    if isinstance(left, Semver) and isinstance(right, Semver):
        return left.rank == right.rank
    return left == right


def _ordered(left: object, right: object) -> int:
    """Return -1, 0 or 1."""
    both: Any = (left, right)
    alike = type(left) is type(right) and isinstance(left, str | bool)
    if alike or (_number(left) and _number(right)):
        return int(both[0] > both[1]) - int(both[0] < both[1])
    raise EvaluationError("values of these types have no order")


def _in(left: object, right: object) -> bool:
    if isinstance(right, list):
        return any(_equal(left, element) for element in right)
    if isinstance(right, Mapping):
        return isinstance(left, str | int) and left in right
    raise EvaluationError("neither a list nor a map")


def _arithmetic(sign: str) -> Function:
    def apply(left: object, right: object) -> object:
        if sign == "+" and type(left) is type(right) and isinstance(left, str | list):
            return _joined(left, right)
        if type(left) is not type(right) or not _number(left):
            raise EvaluationError(f"{sign} of values of these types")
        return _in_range(_ARITHMETIC[sign](left, right))

    return apply


def _joined(left: Any, right: Any) -> object:
    if len(left) + len(right) > _LONGEST_TEXT:
        raise UnsupportedError(f"more than {_LONGEST_TEXT} characters or elements")
    return left + right


def _in_range(number: object) -> object:
    if isinstance(number, int) and not -(2**63) <= number < 2**63:
        raise EvaluationError("an integer of more than 64 bits")
    return number


def _divided(left: Any, right: Any) -> object:
    """Integers are cut toward zero."""
    if right == 0:
        raise EvaluationError("division by zero")
    if isinstance(left, float):
        return left / right
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: Any, right: Any) -> object:
    if isinstance(left, float):
        raise EvaluationError("% of values of these types")
    quotient: Any = _divided(left, right)
    return left - right * quotient


def _negated(value: Any) -> object:
    if not _number(value):
        raise EvaluationError("- of a value that is no number")
    return _in_range(-value)


_ARITHMETIC: Final[Mapping[str, Function]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _divided,
    "%": _remainder,
}

_OPERATORS: Final[Mapping[str, Function]] = {
    "_==_": _equal,
    "_!=_": lambda left, right: not _equal(left, right),
    "_<_": lambda left, right: _ordered(left, right) < 0,
    "_<=_": lambda left, right: _ordered(left, right) <= 0,
    "_>_": lambda left, right: _ordered(left, right) > 0,
    "_>=_": lambda left, right: _ordered(left, right) >= 0,
    "_in_": _in,
    "!_": lambda value: not true(value),
    "-_": _negated,
    **{f"_{sign}_": _arithmetic(sign) for sign in _ARITHMETIC},
}


def _is_text_of(read: Callable[[str], object]) -> Function:
    def test(text: str) -> bool:
        try:
            read(text)
        except EvaluationError:
            return False
        return True

    return test


def _integer(value: Any) -> object:
    try:
        return _in_range(int(value))
    except (ValueError, OverflowError) as error:
        raise EvaluationError("not an integer") from error


def _whole(value: Quantity) -> int:
    if value.amount.denominator != 1 or not -(2**63) <= value.amount < 2**63:
        raise EvaluationError("a quantity that is not an integer of 64 bits")
    return int(value.amount)


def _is_whole(value: Quantity) -> bool:
    return value.amount.denominator == 1 and -(2**63) <= value.amount < 2**63


def _held(value: Optional) -> object:
    if not value.present:
        raise EvaluationError("an optional value without a value")
    return value.value


def _replaced(text: str, old: str, new: str) -> str:
    if len(text) * (1 + len(new)) > _LONGEST_TEXT * 4:
        raise UnsupportedError("replace() of long texts")
    return text.replace(old, new)


def _part(text: str, start: int, end: int) -> str:
    if not 0 <= start <= end <= len(text):
        raise EvaluationError("a part outside the text")
    return text[start:end]


def _split(text: str, by: str) -> list[str]:
    return text.split(by) if by else list(text)


def _sign(value: Quantity) -> int:
    return (value.amount > 0) - (value.amount < 0)


def _compared(
    kind: type, rank: Callable[[Any], Any]
) -> dict[str, list[tuple[tuple[type, ...], Function]]]:
    """Return the members by which two values of a type are compared."""
    pair = (kind, kind)
    return {
        "compareTo": [(pair, lambda a, b: (rank(a) > rank(b)) - (rank(a) < rank(b)))],
        "isGreaterThan": [(pair, lambda a, b: rank(a) > rank(b))],
        "isLessThan": [(pair, lambda a, b: rank(a) < rank(b))],
    }


_OF_QUANTITIES: Final = _compared(Quantity, lambda value: value.amount)
_OF_VERSIONS: Final = _compared(Semver, lambda value: value.rank)

_GLOBAL: Final[Mapping[str, list[tuple[tuple[type, ...], Function]]]] = {
    "size": [((str,), len), ((list,), len), ((dict,), len)],
    "int": [((int,), _integer), ((float,), _integer), ((str,), _integer)],
    "string": [((str,), str), ((int,), str)],
    "quantity": [((str,), Quantity.of)],
    "isQuantity": [((str,), _is_text_of(Quantity.of))],
    "sign": [((Quantity,), _sign)],
    "semver": [
        ((str,), Semver.of),
        ((str, bool), lambda text, how: Semver.of(text, normalize=how)),
    ],
    "isSemver": [
        ((str,), _is_text_of(Semver.of)),
        ((str, bool), lambda text, how: _is_text_of(lambda t: Semver.of(t, normalize=how))(text)),
    ],
    "matches": [((str, str), lambda text, pattern: patterns.found(pattern, text))],
}

_MEMBERS: Final[Mapping[str, list[tuple[tuple[type, ...], Function]]]] = {
    "size": _GLOBAL["size"],
    "matches": _GLOBAL["matches"],
    "startsWith": [((str, str), str.startswith)],
    "endsWith": [((str, str), str.endswith)],
    "contains": [((str, str), lambda text, part: part in text)],
    "lowerAscii": [((str,), lambda text: _ascii(text, str.lower))],
    "upperAscii": [((str,), lambda text: _ascii(text, str.upper))],
    "trim": [((str,), str.strip)],
    "replace": [((str, str, str), _replaced)],
    "split": [((str, str), _split)],
    "indexOf": [((str, str), str.find)],
    "lastIndexOf": [((str, str), str.rfind)],
    "substring": [
        ((str, int), lambda text, start: _part(text, start, len(text))),
        ((str, int, int), _part),
    ],
    **{name: [*_OF_QUANTITIES[name], *_OF_VERSIONS[name]] for name in _OF_QUANTITIES},
    "isInteger": [((Quantity,), _is_whole)],
    "asInteger": [((Quantity,), _whole)],
    "asApproximateFloat": [((Quantity,), lambda value: float(value.amount))],
    "add": [
        ((Quantity, Quantity), lambda a, b: Quantity(a.amount + b.amount)),
        ((Quantity, int), lambda a, b: Quantity(a.amount + b)),
    ],
    "sub": [
        ((Quantity, Quantity), lambda a, b: Quantity(a.amount - b.amount)),
        ((Quantity, int), lambda a, b: Quantity(a.amount - b)),
    ],
    "major": [((Semver,), lambda version: version.numbers[0])],
    "minor": [((Semver,), lambda version: version.numbers[1])],
    "patch": [((Semver,), lambda version: version.numbers[2])],
    "hasValue": [((Optional,), lambda value: value.present)],
    "value": [((Optional,), _held)],
    "orValue": [((Optional, object), lambda value, other: value.value if value.present else other)],
    "or": [((Optional, Optional), lambda value, other: value if value.present else other)],
}


def _ascii(text: str, change: Callable[[str], str]) -> str:
    return "".join(change(char) if char.isascii() else char for char in text)
