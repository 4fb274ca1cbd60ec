"""Which names of version 3 have no counterpart in the newest types of the log.

A decoder leaves out what it does not know and gives what is lacking its default: a rename without a
row would change decisions far from where it was made. So the types themselves are compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import inspect

from tests.replaying import renames
from tests.replaying.converting import Type, types


def names(newest_record: object, newest_inputs: Mapping[str, object]) -> list[str]:
    """Return a line for each name that is lacking, and what to do about it.

    Args:
        newest_record: Union of all records.
        newest_inputs: What decisions are given, by the name of its struct in version 3.
    """
    comparison = _Comparison()
    comparison.compare(types().record, inspect.type_info(newest_record), "record")
    for old, newest in newest_inputs.items():
        comparison.compare(old, inspect.type_info(newest), f"input {old}")
    return comparison.lacking


@dataclass
class _Comparison:
    """Compares a type of version 3 with a newest one, each pair of structs once."""

    lacking: list[str] = field(default_factory=list)
    _seen: set[tuple[str, object]] = field(default_factory=set)

    def compare(self, old: Type, new: inspect.Type, where: str) -> None:
        match old:
            case None:
                return
            case str() if old in types().enums:
                self._values(old, new, where)
            case str():
                self._fields(old, _structs(new), where)
            case ["union", *members]:
                for member in members:
                    self._member(member, new, where)
            case [_, *parts]:
                for part, content in zip(parts, _parts(new), strict=False):
                    self.compare(part, content, where)

    def _member(self, name: str, new: inspect.Type, where: str) -> None:
        old = types().structs[name]["tag"]
        tag = renames.TAGS.get(old, old)
        tagged = [one for one in _structs(new) if one.tag == tag]
        if tagged:
            self._fields(name, tagged, where)
        else:
            self.lacking.append(
                f"{where}: no newest struct has the tag {tag!r} ({name} of version 3): "
                f'add a row "{old}" to TAGS'
            )

    def _fields(self, name: str, candidates: list[inspect.StructType], where: str) -> None:
        reshaped = name in renames.RESHAPED
        if not candidates:
            if not reshaped:
                self.lacking.append(f"{where}: {name} is no struct now: add a row to RESHAPED")
            return
        new = candidates[0]
        if (name, new.cls) in self._seen:
            return
        self._seen.add((name, new.cls))
        fields = {field.encode_name: field for field in new.fields}
        old: Mapping[str, Type] = types().structs[name]["fields"]
        given = {key: renames.FIELDS.get((name, key), key) for key in old}
        for key, newest in given.items():
            if newest in fields:
                self.compare(old[key], fields[newest].type, f"{name}.{key}")
            elif newest is not None and not reshaped:
                place = f"{new.cls.__module__}.{new.cls.__name__}"
                self.lacking.append(
                    f"{name}.{key}: {place} has no field {newest!r}: "
                    f'add a row ("{name}", "{key}") to FIELDS'
                )
        required = {key for key, one in fields.items() if one.required}
        for key in () if reshaped else sorted(required.difference(given.values())):
            self.lacking.append(f"{name}: {key!r} is required now: add a row to RESHAPED")

    def _values(self, name: str, new: inspect.Type, where: str) -> None:
        newest: set[Any] = set()
        for part in _flat(new):
            if isinstance(part, inspect.EnumType):
                newest |= {member.value for member in part.cls}
        if newest:
            self.lacking += (
                f'{where}: no value {old!r}: add a row ("{name}", "{old}") to VALUES'
                for old in types().enums[name]
                if renames.VALUES.get((name, old), old) not in newest
            )


def _flat(new: inspect.Type) -> list[inspect.Type]:
    return list(new.types) if isinstance(new, inspect.UnionType) else [new]


def _structs(new: inspect.Type) -> list[inspect.StructType]:
    return [part for part in _flat(new) if isinstance(part, inspect.StructType)]


def _parts(new: inspect.Type) -> list[inspect.Type]:
    """Return the types of what a list or a map holds."""
    for part in _flat(new):
        match part:
            case inspect.TupleType(item_types=items):
                return list(items)
            case inspect.DictType(key_type=key, value_type=item):
                return [key, item]
            case inspect.CollectionType(item_type=item):
                return [item]
    return []
