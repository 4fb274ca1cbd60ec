"""The JSON schema of the contract's files, and the part of JSON Schema that it uses. No I/O but it.

Source:
    contract.schema.json; JSON Schema 2020-12.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("contract.schema.json")
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}


class ContractSchema:
    """The schema, read from the package."""

    def __init__(self) -> None:
        self._defs: Mapping[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))["$defs"]

    def errors(self, name: str, document: object) -> list[str]:
        """Return what is wrong with a file; empty if nothing is.

        Args:
            name: ``trainer.json``, ``ack-m1.json``, …
            document: The parsed content.
        """
        kind = next((f"{k}.json" for k in ("ack", "start") if name.startswith(f"{k}-")), name)
        return list(self._errors(name, document, self._defs[kind]))

    def _errors(self, where: str, value: Any, schema: Mapping[str, Any]) -> Iterator[str]:
        if "$ref" in schema:
            schema = self._defs[schema["$ref"].rpartition("/")[2]]
        if (expected := _mismatch(value, schema)) is not None:
            yield f"{where}: expected {expected}, found {json.dumps(value)[:80]}"
            return
        for key in schema.get("required", ()):
            if key not in value:
                yield f"{where}: {key} is missing"
        for key, part in schema.get("properties", {}).items():
            if key in value:
                yield from self._errors(f"{where}: {key}", value[key], part)


def _mismatch(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Return what was expected of a value itself; None if it is right."""
    if "const" in schema and value != schema["const"]:
        return json.dumps(schema["const"])
    if "enum" in schema and value not in schema["enum"]:
        return " or ".join(map(json.dumps, schema["enum"]))
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is_of(value, kind) for kind in kinds):
        return " or ".join(kinds)
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        return f"{schema['minimum']} or more"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return f"text like {schema['pattern']}"
    return None


def _is_of(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, _TYPES[kind])
