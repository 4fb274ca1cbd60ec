"""Warnings about keys of our domain that have no effect: misspelt, or set in the wrong place.

A job with such a key runs as if the key were not there, so its user must learn of it.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from extender.core.cluster import job_spec
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
    lines: dict[str, None] = {}
    for line in _lines(pod.labels, "label"):
        lines[line] = None
    for annotations in notes:
        for line in _lines(annotations, "annotation"):
            lines[line] = None
    return tuple(lines)[:MOST]


def ignored(pod: Pod, above: Owners) -> tuple[str, ...]:
    """Return a line for each key that counts on an owner alone and is on the pod or its group."""
    own = labels.OF_OWNER.intersection(pod.annotations)
    of_group = labels.OF_OWNER.intersection(above.group.annotations) if above.group else frozenset()
    unused = [key for key in sorted(own | of_group) if not _counts(pod, above, key)]
    if not unused:
        return ()
    where = _where(pod, above)
    places = ["the pod" if key in own else "the PodGroup" for key in unused]
    return tuple(
        f"annotation {k} on {p} has no effect: {where}" for k, p in zip(unused, places, strict=True)
    )


def _counts(pod: Pod, above: Owners, key: str) -> bool:
    if key == labels.CHECKPOINT:
        return job_spec.may_be_moved(pod, above)
    return job_spec.of_pod(pod, above, key) is not None


def _where(pod: Pod, above: Owners) -> str:
    """Return where the key would count."""
    reference, owner = pod.controller, above.owner
    if reference is None:
        return "set it on the pod itself"
    name = f"{reference.kind} {reference.name}"
    if owner is None:
        return f"it counts on the pod's owner alone, and {name} is not read or did not make the pod"
    return f"set it on {name} or in its pod template"


def _lines(stated: Mapping[str, str], place: str) -> Iterable[str]:
    for key in stated:
        if key.startswith(_PREFIX) and (line := _line(key, place)):
            yield line


def _line(key: str, place: str) -> str | None:
    """Return what is wrong with a key of ours; None if nothing is."""
    if key == labels.GATE:
        return f"{place} {key} has no effect: it is a scheduling gate (spec.schedulingGates)"
    if key not in labels.KEYS:
        return _unknown(key, place)
    if key in labels.NAMESPACE_KEYS:
        return f"{place} {key} has no effect here: set it on the Namespace"
    if key in labels.NODE_KEYS:
        return f"{place} {key} has no effect here: set it on the Node"
    right = "label" if key in labels.LABEL_KEYS else "annotation"
    if place != right:
        return f"{place} {key} has no effect: set it as {_a(right)}"
    return None


def _unknown(key: str, place: str) -> str:
    name = key.removeprefix(_PREFIX)[:LONGEST]
    near = get_close_matches(name, _NAMES, n=1)
    hint = f", did you mean {near[0]}?" if near else ""
    return f"unknown {place} {_PREFIX}{name}{hint}"


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
