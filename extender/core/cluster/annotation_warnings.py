"""Keys of our domain that have no effect where they stand: misspelt, or in the wrong place.

A job with such a key runs as if the key were not there, so its user must learn of it.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from extender.core.kinds.base import Owners
from shared import labels
from shared.model import Pod

MOST: Final = 4
"""Warnings of one job: a template with a hundred unknown keys needs no hundred lines."""
LONGEST: Final = 80
"""Characters of an unknown key that are shown and compared."""

_PREFIX: Final = f"{labels.DOMAIN}/"
_NAMES: Final = tuple(sorted(key.removeprefix(_PREFIX) for key in labels.KEYS))


def of_pod(pod: Pod, above: Owners) -> tuple[str, ...]:
    """Return a line for each key of a pod, its group and its owners that has no effect."""
    notes = [pod.annotations, *(owner.annotations for owner in above.owners)]
    if above.group is not None:
        notes.append(above.group.annotations)
    found: dict[str, None] = {}
    for line in _lines(pod.labels, "label"):
        found[line] = None
    for annotations in notes:
        for line in _lines(annotations, "annotation"):
            found[line] = None
    return tuple(found)[:MOST]


def _lines(stated: Mapping[str, str], place: str) -> Iterable[str]:
    for key in stated:
        if key.startswith(_PREFIX) and (line := _line(key, place)):
            yield line


def _line(key: str, place: str) -> str:
    """Return what is wrong with a key of ours; empty if nothing is."""
    if key == labels.GATE:
        return f"{place} {key} has no effect: it is a scheduling gate (spec.schedulingGates)"
    if key not in labels.KEYS:
        return _unknown(key, place)
    if key in labels.NAMESPACE_KEYS:
        return f"{place} {key} has no effect here: set it on the Namespace"
    right = "label" if key in labels.LABEL_KEYS else "annotation"
    if place != right:
        return f"{place} {key} has no effect: set it as {_a(right)}"
    return ""


def _unknown(key: str, place: str) -> str:
    name = key.removeprefix(_PREFIX)[:LONGEST]
    near = get_close_matches(name, _NAMES, n=1)
    hint = f", did you mean {near[0]}?" if near else ""
    return f"unknown {place} {_PREFIX}{name}{hint}"


def _a(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"
