"""Levels and slices as annotations state them: one layer of slices, or several inside each other.

With our annotations both lists have commas: ``block, nvlink`` and ``32, 8`` are slices of 32 in one
block each, of which each is four slices of 8 in one NVLink domain each. Kueue has a list in JSON.

Source:
    Kueue v0.17, ``podset-slice-required-topology-constraints`` (alpha): at most three layers from
    the coarsest to the finest, each with ``topology`` and ``size``; no level twice; each size
    divides the one before.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import msgspec
from msgspec import Struct

from shared.errors import InputError

MOST_LAYERS: Final = 3
"""As in Kueue."""

_SIZE: Final = re.compile(r"[1-9][0-9]{0,5}")
_MOST_SIZE: Final = 999_999


@dataclass(frozen=True)
class LevelRequest:
    """A level that an annotation names.

    Attributes:
        key: The annotation.
        text: Name or label of the level; the settings decide whether it exists.
        size: Annotation and text that mean nothing without it: the size of slices; None for none.
        whole: The annotation's text, where it states more than this level; otherwise empty.
    """

    key: str
    text: str
    size: tuple[str, str] | None = None
    whole: str = ""


@dataclass(frozen=True)
class SliceRequest:
    """Slices of a stated size, each inside one domain: one layer of them.

    Attributes:
        level: The level of these domains.
        size: How many pods make a slice.
    """

    level: LevelRequest
    size: int


def of_lists(key: str, levels: str, sizes: tuple[str, str]) -> tuple[SliceRequest, ...]:
    """Return the layers of two lists with commas.

    Args:
        key: Annotation with the levels.
        levels: Its text.
        sizes: Annotation with the sizes, and its text.

    Raises:
        InputError: One of them is not such a list, or they do not fit together.
    """
    names, numbers = _parts(levels), _parts(sizes[1])
    if any(_SIZE.fullmatch(number) is None for number in numbers):
        expected = "a number of pods, at least 1, for each level"
        raise InputError(f"annotation {sizes[0]}", sizes[1], expected)
    if len(names) != len(numbers):
        expected = f"as many sizes as {key} names levels: {len(names)}"
        raise InputError(f"annotation {sizes[0]}", sizes[1], expected)
    whole = levels if len(names) > 1 else ""
    layers = tuple(
        SliceRequest(LevelRequest(key, name, sizes, whole), int(number))
        for name, number in zip(names, numbers, strict=True)
    )
    _check(layers, (key, levels), sizes)
    return layers


class _Layer(Struct, forbid_unknown_fields=True):
    """An entry of Kueue's list."""

    topology: str
    size: int


def of_json(key: str, text: str) -> tuple[SliceRequest, ...]:
    """Return the layers of Kueue's list.

    Args:
        key: The annotation.
        text: Its text.

    Raises:
        InputError: It is not such a list.
    """
    try:
        entries = msgspec.json.decode(text, type=list[_Layer])
    except (msgspec.MsgspecError, UnicodeError) as error:
        expected = f'a list like [{{"topology": "LABEL", "size": 4}}]: {error}'
        raise InputError(f"annotation {key}", text, expected) from error
    if not all(0 < one.size <= _MOST_SIZE for one in entries):
        raise InputError(f"annotation {key}", text, f"a list of sizes from 1 to {_MOST_SIZE}")
    layers = tuple(
        SliceRequest(LevelRequest(key, one.topology, whole=text), one.size) for one in entries
    )
    _check(layers, (key, text), (key, text))
    return layers


def _check(
    layers: Sequence[SliceRequest], of_levels: tuple[str, str], of_sizes: tuple[str, str]
) -> None:
    """Check the layers, which come from these annotations.

    Raises:
        InputError: They are too many, name a level twice, or do not divide each other.
    """
    (key, levels), (size_key, sizes) = of_levels, of_sizes
    if not 0 < len(layers) <= MOST_LAYERS:
        raise InputError(f"annotation {key}", levels, f"1 to {MOST_LAYERS} levels")
    names = [one.level.text for one in layers]
    if len(set(names)) < len(names):
        raise InputError(f"annotation {key}", levels, "a list in which no level comes twice")
    for outer, inner in pairwise(layers):
        if outer.size % inner.size:
            expected = f"a list in which each size divides the one before, here {outer.size}"
            raise InputError(f"annotation {size_key}", sizes, expected)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]
