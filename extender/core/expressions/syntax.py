"""The syntax of CEL: a text becomes a tree. Operators are calls, and so are macros.

Source:
    github.com/google/cel-spec, doc/langdef.md, section Syntax; optional access (``.?a``, ``[?a]``)
    as in cel-go. Bytes and messages are not read: no selector of a device can use them.
"""

import re
from dataclasses import dataclass
from typing import Final

from extender.core.expressions.errors import UnsupportedError

LONGEST: Final = 10 * 1024
"""Characters; the API server accepts no longer expression in a selector."""

DEEPEST: Final = 40
"""Parentheses, brackets and operators inside each other."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a text, true, false or null."""

    value: object


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """``operand.field``; ``test``: ``has(operand.field)``; ``optional``: ``operand.?field``."""

    operand: "Node"
    field: str
    test: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function, an operator (``_&&_``) or a macro; with a target for ``target.function()``."""

    function: str
    arguments: "tuple[Node, ...]"
    target: "Node | None" = None


@dataclass(frozen=True, slots=True)
class ListOf:
    """``[a, b]``."""

    items: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class MapOf:
    """``{a: b}``."""

    pairs: "tuple[tuple[Node, Node], ...]"


Node = Literal | Name | Select | Call | ListOf | MapOf

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<text>[rR]?(?:\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}
        |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
    |(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<int>0x[0-9a-fA-F]+|\d+)(?P<unsigned>[uU])?
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|\.\?|\[\?|[-+*/%!<>?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)

_LEVELS: Final = (
    frozenset({"==", "!=", "<", "<=", ">", ">=", "in"}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
)
"""Binary operators from the weakest to the strongest, without ``||`` and ``&&``."""

_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    **{char: char for char in "\\?\"'`"},
}
_ESCAPE: Final = re.compile(
    r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_TRIPLE: Final = 3
_LARGEST_CODE: Final = 0x10FFFF


def parse(text: str) -> Node:
    """Return the tree of an expression.

    Raises:
        UnsupportedError: The text is no expression that we read; names the place.
    """
    if len(text) > LONGEST:
        raise UnsupportedError(f"more than {LONGEST} characters")
    return _Parser(_tokens(text)).whole()


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, at = list[tuple[str, str]](), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match["unsigned"]:
            raise UnsupportedError(f"character {at + 1} is not understood")
        at = match.end()
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append((kind, match.group()))
    return tokens


class _Parser:
    """Reads tokens from left to right, one method for each level of precedence."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        tree = self._ternary()
        if self._at < len(self._tokens):
            raise self._unexpected()
        return tree

    def _ternary(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise UnsupportedError(f"more than {DEEPEST} levels")
        condition = self._logical("||")
        if self._accept("?"):
            yes = self._logical("||")
            self._expect(":")
            condition = Call("_?_:_", (condition, yes, self._ternary()))
        self._depth -= 1
        return condition

    def _logical(self, sign: str) -> Node:
        left = self._operand_of(sign)
        while self._accept(sign):
            left = Call(f"_{sign}_", (left, self._operand_of(sign)))
        return left

    def _operand_of(self, sign: str) -> Node:
        return self._logical("&&") if sign == "||" else self._binary(0)

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while (sign := self._peek()) in _LEVELS[level] and self._kind() != "text":
            self._at += 1
            left = Call(f"_{sign}_", (left, self._binary(level + 1)))
        return left

    def _unary(self) -> Node:
        signs = list[str]()
        while self._kind() == "sign" and self._peek() in {"!", "-"}:
            signs.append(self._next())
        if len(signs) > DEEPEST:
            raise UnsupportedError(f"more than {DEEPEST} levels")
        tree = self._member()
        for sign in reversed(signs):
            negative = (
                sign == "-" and isinstance(tree, Literal) and type(tree.value) in {int, float}
            )
            tree = Literal(-tree.value) if negative else Call(f"{sign}_", (tree,))  # type: ignore[union-attr,operator]
        return tree

    def _member(self) -> Node:
        tree = self._primary()
        while self._kind() == "sign" and (sign := self._peek()) in {".", ".?", "[", "[?"}:
            self._at += 1
            if sign in {".", ".?"}:
                tree = self._after_dot(tree, optional=sign == ".?")
            else:
                function = "_[_]" if sign == "[" else "_[?_]"
                tree = Call(function, (tree, self._ternary()))
                self._expect("]")
        return tree

    def _after_dot(self, operand: Node, *, optional: bool) -> Node:
        name = self._name()
        if optional or not self._accept("("):
            return Select(operand, name, optional=optional)
        return Call(name, self._until(")"), operand)

    def _primary(self) -> Node:
        kind, text = self._kind(), self._next()
        if kind == "text":
            return Literal(_text(text))
        if kind == "int":
            return Literal(int(text, 16 if text.startswith("0x") else 10))
        if kind == "float":
            return Literal(float(text))
        if kind == "name":
            return self._named(text)
        return self._enclosed(text)

    def _named(self, name: str) -> Node:
        if name in _CONSTANTS:
            return Literal(_CONSTANTS[name])
        if not self._accept("("):
            return Name(name)
        arguments = self._until(")")
        if name != "has":
            return Call(name, arguments)
        if len(arguments) != 1 or not isinstance(arguments[0], Select):
            raise UnsupportedError("has() without a field")
        return Select(arguments[0].operand, arguments[0].field, test=True)

    def _enclosed(self, sign: str) -> Node:
        if sign == "(":
            tree = self._ternary()
            self._expect(")")
            return tree
        if sign == "[":
            return ListOf(self._until("]"))
        if sign == "{":
            return MapOf(self._pairs())
        self._at -= 1
        raise self._unexpected()

    def _until(self, end: str) -> tuple[Node, ...]:
        found = list[Node]()
        while not self._accept(end):
            found.append(self._ternary())
            if self._peek() != end:
                self._expect(",")
        return tuple(found)

    def _pairs(self) -> tuple[tuple[Node, Node], ...]:
        pairs = list[tuple[Node, Node]]()
        while not self._accept("}"):
            key = self._ternary()
            self._expect(":")
            pairs.append((key, self._ternary()))
            if self._peek() != "}":
                self._expect(",")
        return tuple(pairs)

    def _name(self) -> str:
        if self._kind() != "name":
            raise self._unexpected()
        return self._next()

    def _kind(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        if self._at >= len(self._tokens):
            raise self._unexpected()
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _accept(self, sign: str) -> bool:
        found = self._kind() == "sign" and self._peek() == sign
        self._at += found
        return found

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._unexpected()

    def _unexpected(self) -> UnsupportedError:
        return UnsupportedError(
            f"{self._peek()!r} is not understood" if self._peek() else "it ends"
        )


def _text(token: str) -> str:
    raw, quoted = token[0] in "rR", token.lstrip("rR")
    width = _TRIPLE if quoted[:_TRIPLE] in {'"""', "'''"} else 1
    inner = quoted[width:-width]
    return inner if raw else _ESCAPE.sub(_unescaped, inner)


def _unescaped(match: re.Match[str]) -> str:
    *codes, octal, char = match.groups()
    code = next((int(digits, 16) for digits in codes if digits), None)
    if octal:
        code = int(octal, 8)
    if code is not None:
        if code > _LARGEST_CODE:
            raise UnsupportedError(f"{match.group()} is not understood")
        return chr(code)
    if char not in _ESCAPES:
        raise UnsupportedError(f"{match.group()} is not understood")
    return _ESCAPES[char]
