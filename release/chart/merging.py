"""Variants of one object as one tree: where they differ, the tree has the cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from release.chart.conditions import Variant, Variants


class Form(StrEnum):
    """How a value of the chart becomes part of a template."""

    INLINE = "inline"
    """Its text stands where a scalar would."""
    BLOCK = "block"
    """An expression whose YAML stands below its key."""
    OPTIONAL = "optional"
    """As BLOCK; without the key if the value is empty."""
    SPREAD = "spread"
    """An expression whose entries stand among those of a mapping."""
    LITERAL = "literal"
    """An expression whose text is a block of lines."""


@dataclass(frozen=True)
class Slot:
    """A place that a value of the chart fills.

    Attributes:
        text: Template text (INLINE), or an expression without braces.
        form: How it is printed.
    """

    text: str
    form: Form = Form.INLINE


@dataclass(frozen=True)
class Case:
    """What some of the variants have at one place."""

    variants: Variants
    node: Any


@dataclass(frozen=True)
class Cases:
    """What the variants have at one place, where it is not the same in all."""

    found: tuple[Case, ...]


@dataclass(frozen=True)
class Fields:
    """A mapping whose entries may differ between variants."""

    entries: Mapping[str, Cases]


@dataclass(frozen=True)
class Items:
    """A list whose items have names and may differ between variants."""

    entries: tuple[Cases, ...]


def merge(found: Mapping[Variant, Any]) -> Any:
    """Return the tree of an object, or of a part of it.

    Args:
        found: What each variant has. A variant that is not named does not have this part.

    Returns:
        The part itself if it is the same in all variants; else Fields, Items or Cases.
    """
    first, *others = found.values()
    if all(other == first for other in others):
        return first
    if all(isinstance(one, Mapping) for one in found.values()):
        names = dict.fromkeys(name for one in found.values() for name in one)
        return Fields({name: _cases(_having(found, name)) for name in names})
    if all(_has_names(one) for one in found.values()):
        named = {v: {item["name"]: item for item in one} for v, one in found.items()}
        names = dict.fromkeys(name for one in named.values() for name in one)
        return Items(tuple(_cases(_having(named, name)) for name in names))
    return _cases(found)


def _having(found: Mapping[Variant, Mapping[str, Any]], name: str) -> dict[Variant, Any]:
    return {variant: one[name] for variant, one in found.items() if name in one}


def _has_names(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and bool(value)
        and all(isinstance(item, Mapping) and "name" in item for item in value)
    )


def _cases(found: Mapping[Variant, Any]) -> Cases:
    """Return one case for all variants if they can be merged, else one for each value."""
    mergeable = (
        all(one == next(iter(found.values())) for one in found.values())
        or all(isinstance(one, Mapping) for one in found.values())
        or all(_has_names(one) for one in found.values())
    )
    if mergeable:
        return Cases((Case(frozenset(found), merge(found)),))
    groups: list[tuple[Any, set[Variant]]] = []
    for variant, one in found.items():
        for value, variants in groups:
            if value == one:
                variants.add(variant)
                break
        else:
            groups.append((one, {variant}))
    return Cases(tuple(Case(frozenset(variants), value) for value, variants in groups))
