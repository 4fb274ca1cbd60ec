"""Equal parts of objects as one object: a hundred thousand pods differ in little.

The pods of a job have one shape, one owner, and the same names of namespace, scheduler and job.
Kept once, pods take half of the memory, and equal parts are compared by identity.

A shape is held only by the pods that have it. Of texts, maps and references the latest used are
held, also after their last pod is gone; only short ones are, so that they take 20 MB at most.
"""

from functools import lru_cache
from typing import Final
from weakref import ReferenceType, WeakKeyDictionary, ref

from shared import model
from shared.objects.devices import PodClaim

MOST_LENGTH: Final = 253
"""Characters of a text that is held, and of all values of a map: a name of Kubernetes."""

MOST_TEXTS: Final = 16_384
"""Node names, names and uids of jobs, short label values."""

MOST_MAPS: Final = 2048
"""Labels, annotations and references of that many jobs."""

MOST_PAIRS: Final = 8
"""Labels or annotations of a map that is held."""

_SHAPES: Final[WeakKeyDictionary[model.PodShape, ReferenceType[model.PodShape]]] = (
    WeakKeyDictionary()
)


def text(value: str) -> str:
    """Return an equal text; the same one for equal short texts."""
    return _text(value) if len(value) <= MOST_LENGTH else value


def texts(values: dict[str, str]) -> dict[str, str]:
    """Return an equal map, which nothing may change; the same one for equal small maps."""
    if len(values) <= MOST_PAIRS and len("".join(values.values())) <= MOST_LENGTH:
        return _map(tuple(values.items()))
    return {text(key): text(value) for key, value in values.items()}


def names(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return equal names; the same ones for equal few and short ones."""
    if len(values) <= MOST_PAIRS and len("".join(values)) <= MOST_LENGTH:
        return _names(values)
    return values


def shape(value: model.PodShape) -> model.PodShape:
    """Return an equal shape; the same one for all pods that have it."""
    held = _SHAPES.get(value)
    known = None if held is None else held()
    if known is None:
        known, _SHAPES[value] = value, ref(value)
    return known


@lru_cache(maxsize=MOST_MAPS)
def pod_claims(value: tuple[PodClaim, ...]) -> tuple[PodClaim, ...]:
    """Return equal claims; the same ones for all pods of a template."""
    return value


@lru_cache(maxsize=MOST_MAPS)
def owner_reference(api_version: str, kind: str, name: str, uid: str) -> model.OwnerReference:
    """Return a reference; the same one for the pods of an owner."""
    return model.OwnerReference(api_version, kind, name, model.Uid(uid))


@lru_cache(maxsize=MOST_TEXTS)
def _text(value: str) -> str:
    return value


@lru_cache(maxsize=MOST_MAPS)
def _names(values: tuple[str, ...]) -> tuple[str, ...]:
    return values


@lru_cache(maxsize=MOST_MAPS)
def _map(pairs: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return {text(key): text(value) for key, value in pairs}
