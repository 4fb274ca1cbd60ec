"""Write src/api.ts from the structs of the read API, so that the page is checked against them.

``--check`` writes nothing and ends with 1 if the file is not what it would be.
"""  # noqa: INP001 - a script, no package

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, inspect

from cli.ui.questions import Report
from shared.readapi import api
from shared.readapi.ledgers import ParkingsResponse, RescalesResponse
from shared.readapi.pricing import PricesResponse
from shared.readapi.tenancy import NamespacesResponse

FILE: Final = Path(__file__).parent / "src" / "api.ts"
ANSWERS: Final[tuple[type[Struct], ...]] = (
    api.QueueResponse,
    api.NodesResponse,
    api.JobsResponse,
    api.ExplainResponse,
    api.MigrationsResponse,
    RescalesResponse,
    ParkingsResponse,
    NamespacesResponse,
    PricesResponse,
    api.WhatIfResponse,
    Report,
)
_SCALARS: Final[dict[type[inspect.Type], str]] = {
    inspect.IntType: "number",
    inspect.FloatType: "number",
    inspect.StrType: "string",
    inspect.BoolType: "boolean",
    inspect.NoneType: "null",
}


def text() -> str:
    """Return the whole file."""
    lines = [
        "// Made by page/schema.py from shared/readapi/api.py and its parts; not edited by hand."
    ]
    for kind in _structs():
        lines += ["", *_interface(kind)]
    return "\n".join(lines) + "\n"


def _structs() -> Iterator[inspect.StructType]:
    """Yield every struct of the answers once, by name."""
    found: dict[str, inspect.StructType] = {}
    open_types: list[inspect.Type] = list(inspect.multi_type_info(ANSWERS))
    while open_types:
        kind = open_types.pop()
        if isinstance(kind, inspect.StructType) and kind.cls.__name__ not in found:
            found[kind.cls.__name__] = kind
            open_types += [field.type for field in kind.fields]
        open_types += _inner(kind)
    yield from (found[name] for name in sorted(found))


def _inner(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    match kind:
        case inspect.UnionType(types=types):
            return types
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            return (item,)
        case inspect.DictType(value_type=value):
            return (value,)
        case _:
            return ()


def _interface(kind: inspect.StructType) -> Iterator[str]:
    omits = kind.cls.__struct_config__.omit_defaults
    yield f"export interface {kind.cls.__name__} {{"
    for field in kind.fields:
        mark = "?" if omits and not field.required else ""
        yield f"  readonly {field.encode_name}{mark}: {_typed(field.type)};"
    yield "}"


def _typed(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.StructType):
        return kind.cls.__name__
    if isinstance(kind, inspect.EnumType):
        return " | ".join(_literal(member.value) for member in kind.cls)
    if isinstance(kind, inspect.UnionType):
        return " | ".join(_typed(one) for one in kind.types)
    if isinstance(kind, inspect.VarTupleType | inspect.ListType):
        item = _typed(kind.item_type)
        return f"readonly ({item})[]" if " " in item else f"readonly {item}[]"
    if isinstance(kind, inspect.DictType):
        return f"Readonly<Record<string, {_typed(kind.value_type)}>>"
    return _SCALARS[type(kind)]


def _literal(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def main() -> int:
    """Write the file, or check it; return 1 if it is out of date."""
    parser = argparse.ArgumentParser(description="Make page/src/api.ts.")
    parser.add_argument("--check", action="store_true", help="only check that it is current")
    check: bool = parser.parse_args().check
    if not check:
        FILE.write_text(text())
        return 0
    if FILE.exists() and FILE.read_text() == text():
        return 0
    sys.stderr.write(f"{FILE} is not current; run python page/schema.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
