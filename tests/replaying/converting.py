"""A log of version 3, line by line, in the newest form and names.

The types of version 3 are kept as data, so that each value is converted as what it is: a field is
renamed in its own struct and nowhere else.
"""

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from extender.store.recording import VERSION
from tests.replaying import renames

Type = str | list[Any] | None
"""Of a value: the name of a struct or an enum; ``["list", T]``, ``["map", K, V]``,
``["tuple", T, ...]`` or ``["union", S, ...]`` of tagged structs; None for what is plain. What may
be null has no mark."""

FIXTURES: Final = Path(__file__).parents[1] / "fixtures" / "decision_log_3"


class ConversionError(Exception):
    """A line is not of version 3."""


class Types:
    """The types of version 3."""

    def __init__(self, path: Path = FIXTURES / "types.json") -> None:
        known = json.loads(path.read_text())
        self.record: Type = ["union", *known["record"]]
        self.inputs: Mapping[str, Type] = known["inputs"]
        self.outputs: Mapping[str, Type] = known["outputs"]
        self.structs: Mapping[str, Any] = known["structs"]
        self.enums: Mapping[str, list[str]] = known["enums"]

    def tagged(self, union: list[str], tag: object) -> str:
        """Return the struct of a union that has the tag."""
        for name in union[1:]:
            if self.structs[name]["tag"] == tag:
                return name
        raise ConversionError(f"version 3 has no struct with the tag {tag!r} in {union[1:]}")


@functools.cache
def types() -> Types:
    return Types()


def lines(old: Iterable[bytes], parameters_hash: str) -> Iterator[bytes]:
    """Yield each line of a log of version 3 as the newest code writes it.

    Raises:
        ConversionError: A line is not of version 3; the message names struct and field.
    """
    for line in old:
        yield msgspec.json.encode(record(msgspec.json.decode(line), parameters_hash)) + b"\n"


def record(old: dict[str, Any], parameters_hash: str) -> dict[str, Any]:
    """Return a record of version 3 in the newest form."""
    if old["type"] == "Header":
        assert old["version"] == 3
        old = {**old, "version": VERSION, "parameters_hash": parameters_hash}
    new: dict[str, Any] = value(old, types().record, "")
    return new


def value(old: Any, kind: Type, where: str) -> Any:
    """Return a value of a known type in the newest form; ``where`` is for the error."""
    if old is None or kind is None:
        return _plain(old)
    if not isinstance(kind, str):
        return _parts(old, kind, where)
    if kind in types().enums:
        return renames.VALUES.get((kind, old), old)
    return _struct(old, kind, where)


def _parts(old: Any, kind: list[Any], where: str) -> Any:
    match kind:
        case ["union", *_]:
            return _struct(old, types().tagged(kind, old.get("type")), where)
        case ["list", item]:
            return [value(one, item, where) for one in old]
        case ["map", key, item]:
            return {value(k, key, where): value(v, item, where) for k, v in old.items()}
        case ["tuple", *items]:
            return [value(one, item, where) for one, item in zip(old, items, strict=True)]
    raise AssertionError(kind)


def _struct(old: Any, name: str, where: str) -> Any:
    where = f"{where} > {name}" if where else name
    if isinstance(old, list):  # such a struct is written without the names of its fields
        new = _renamed(dict(zip(types().structs[name]["fields"], old, strict=False)), name, where)
        return list(new.values())
    return _renamed(old, name, where)


def _renamed(old: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    fields: Mapping[str, Type] = types().structs[name]["fields"]
    new: dict[str, Any] = {}
    for field, content in old.items():
        if field == "type":
            new["type"] = renames.TAGS.get(content, content)
            continue
        if field not in fields:
            raise ConversionError(f"{where}: version 3 has no field {name}.{field}")
        if (newest := renames.FIELDS.get((name, field), field)) is None:
            continue
        kind = fields[field]
        if name == "DecisionRecord":
            new[newest] = _decision(old, field, where)
        else:
            new[newest] = value(content, kind, f"{where}.{field}")
    return renames.RESHAPED.get(name, _same)(new)


def _decision(old: dict[str, Any], field: str, where: str) -> Any:
    """Return a field of a decision: what it was given and what came out are of its kind."""
    kind, content = old["kind"], old[field]
    if field == "kind":
        return renames.KINDS.get(kind, kind)
    if field not in {"input", "output"}:
        return content
    known = types().inputs if field == "input" else types().outputs
    new = value(content, known.get(kind), f"{where}({kind}).{field}")
    return renames.RESHAPED.get(f"{kind} {field}", _same)(new)


def _same(new: Any) -> Any:
    return new


def _plain(old: Any) -> Any:
    """Return a plain value with its texts as they are worded now."""
    match old:
        case str():
            return text(old)
        case list():
            return [_plain(one) for one in old]
        case dict():
            return {text(key): _plain(one) for key, one in old.items()}
    return old


@functools.lru_cache(maxsize=100_000)
def text(old: str) -> str:
    """Return a text as it is worded now."""
    new = _reworded(old)
    for pattern, replacement in renames.PHRASES.items():
        new = re.sub(pattern, replacement, new)
    return new


def _reworded(old: str) -> str:
    for pattern, parts in _patterns():
        if (match := pattern.fullmatch(old)) is not None:
            kept = (*match.groups(), "")
            return "".join(part + some for part, some in zip(parts, kept, strict=True))
    return old


@functools.cache
def _patterns() -> list[tuple[re.Pattern[str], list[str]]]:
    return [
        (re.compile("(.*?)".join(map(re.escape, old.split("{}"))), re.DOTALL), new.split("{}"))
        for old, new in renames.TEXTS.items()
    ]


def forget_texts() -> None:
    """Read the table of texts again: it has changed."""
    _patterns.cache_clear()
    text.cache_clear()


def settings(old: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return sections of the settings file with the newest names."""
    new: dict[str, dict[str, Any]] = {}
    for section, values in old.items():
        for name, content in values.items():
            newest = renames.SETTINGS.get(f"{section}.{name}", f"{section}.{name}")
            if newest is not None:
                place, _, key = newest.partition(".")
                new.setdefault(place, {})[key] = content
    return new
