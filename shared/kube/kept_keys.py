"""Which labels and annotations of an object are kept when it is decoded, and how much. Pure.

Annotations: those with keys of ``shared.labels`` and ``shared.foreign_labels``, which are all that
is read anywhere, and every key of our own domain, known or not, so that a mistyped one can be
reported. All others are dropped: ``kubectl.kubernetes.io/last-applied-configuration`` alone is as
large as its object, and has the values of environment variables.

Labels: all, because selectors and affinities may use any.

Both are bounded, because an object may have 1.5 MB of labels and 256 KiB of annotations. Long
values are cut. Of too many, keys that are read come first, then the others in the object's order,
which the API server sorts by key. ``excess`` reports it: pods of the job wait as ``Misconfigured``;
nothing else stops.
"""

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Final, NamedTuple

from msgspec import Struct

from shared import foreign_labels, labels
from shared.errors import InputError
from shared.kube import wire

OURS: Final = f"{labels.DOMAIN}/"
"""Prefix of keys of our own domain."""

MOST_VALUE_BYTES: Final = 16 * 2**10
"""Bytes of one annotation. The longest that users write are YuniKorn's task groups, of a kilobyte
each; ours are shorter, except ``LONG``."""

MOST_LONG_BYTES: Final = 128 * 2**10
"""Bytes of one annotation in ``LONG``: half of the API server's limit for an object."""

LONG: Final = frozenset({labels.SLOT_PLAN, labels.RESCALE, labels.HANG_RESTARTS, labels.PARKING})
"""Annotations that we write on owners, and that grow with the number of nodes and workers."""

_CUT: Final = 64
"""Characters that are kept of a long text."""


class Limits(Struct, frozen=True):
    """Limits of one object.

    Attributes:
        labels: How many labels.
        label_bytes: Keys and values of all of them.
        annotations: How many annotations.
        annotation_bytes: Keys and values of all of them, but for the values of ``long``.
        long: Annotations that may have ``MOST_LONG_BYTES``.
    """

    labels: int = 256
    label_bytes: int = 32 * 2**10
    annotations: int = 64
    annotation_bytes: int = 64 * 2**10
    long: frozenset[str] = frozenset()


COMMON: Final = Limits()
"""Limits of pods, pod groups, namespaces and quotas. Pods have 5 to 20 labels; we write 8
annotations on a pod, and users can set 20 more."""

OF_OWNERS: Final = Limits(long=LONG)

OF_NODES: Final = Limits(labels=2048, label_bytes=256 * 2**10)
"""Node feature discovery alone sets 200 labels; tenants cannot write them."""


class Kept(NamedTuple):
    """What is kept of an object's metadata.

    Attributes:
        labels: Its labels.
        annotations: Its annotations.
        excess: Error message about the excess; empty if there is none.
    """

    labels: dict[str, str]
    annotations: dict[str, str]
    excess: str


def _named(module: ModuleType) -> Iterator[str]:
    """Yield the keys in a module of keys."""
    for name, value in vars(module).items():
        if name.isupper() and isinstance(value, str):
            yield value
        elif name.isupper() and isinstance(value, tuple | frozenset):
            yield from value


READ: Final = frozenset((*_named(labels), *_named(foreign_labels)))
"""Every key that anything reads."""

_FIRST: Final = (*sorted(labels.RESERVATION), labels.CPU_GIVEN, labels.MIGRATION, *sorted(LONG))
_IN_ORDER: Final = tuple(dict.fromkeys((*_FIRST, *sorted(READ))))
"""First the keys without which a pod's reservation or an owner's state is unknown."""

_SURELY_FITS: Final = 4 * 2**10
"""Characters of all values together that are within every limit, in any script."""
_SURELY_FEW: Final = 24
"""Number of keys, of at most 317 bytes each, that are within every limit with such values."""


def keep(meta: wire.Meta, limits: Limits = COMMON) -> Kept:
    """Return what is kept of an object."""
    marks, notes = meta.labels or {}, _read(meta)
    if _surely_fit(marks) and _surely_fit(notes):  # nearly always
        return Kept(marks, notes, "")
    marks, problem = _bounded_labels(marks, limits)
    notes, notes_problem = _bounded_annotations(notes, limits)
    return Kept(marks, notes, problem or notes_problem)


def keep_labels(meta: wire.Meta, limits: Limits = COMMON) -> dict[str, str]:
    """Return the labels that are kept."""
    texts = meta.labels or {}
    return texts if _surely_fit(texts) else _bounded_labels(texts, limits)[0]


def keep_annotations(meta: wire.Meta, limits: Limits = COMMON) -> tuple[dict[str, str], str]:
    """Return the annotations that are kept, and the excess."""
    texts = _read(meta)
    return (texts, "") if _surely_fit(texts) else _bounded_annotations(texts, limits)


def _read(meta: wire.Meta) -> dict[str, str]:
    """Return the annotations that anything reads."""
    annotations = meta.annotations
    if not annotations:
        return {}
    return {key: text for key, text in annotations.items() if key in READ or key.startswith(OURS)}


def _surely_fit(texts: Mapping[str, str]) -> bool:
    """Return True if all fit for certain, without measuring each: this runs for every event."""
    return not texts or (len(texts) <= _SURELY_FEW and len("".join(texts.values())) <= _SURELY_FITS)


def _bounded_labels(texts: Mapping[str, str], limits: Limits) -> tuple[dict[str, str], str]:
    most = f"at most {limits.labels} labels with {limits.label_bytes} bytes in all"
    return _bounded(
        texts,
        kind="label",
        count=limits.labels,
        size=limits.label_bytes,
        most=most,
        long=frozenset(),
    )


def _bounded_annotations(texts: Mapping[str, str], limits: Limits) -> tuple[dict[str, str], str]:
    count, size = limits.annotations, limits.annotation_bytes
    most = f"at most {count} annotations of {labels.DOMAIN} with {size} bytes in all"
    return _bounded(texts, kind="annotation", count=count, size=size, most=most, long=limits.long)


def _bounded(
    texts: Mapping[str, str], *, kind: str, count: int, size: int, most: str, long: frozenset[str]
) -> tuple[dict[str, str], str]:
    kept: dict[str, str] = {}
    problem, left = "", size
    for key in _by_rank(texts):
        text = texts[key]
        longest = MOST_LONG_BYTES if key in long else MOST_VALUE_BYTES
        length = _bytes(text)
        if length > longest:
            problem = problem or str(InputError(f"{kind} {key}", text, f"at most {longest} bytes"))
            text = f"{text[:_CUT]}…"
            length = _bytes(text)
        left -= _bytes(key) + (0 if key in long else length)
        if len(kept) == count or left < 0:
            problem = problem or str(InputError(f"{kind}s", f"{len(texts)} of them", most))
            break
        kept[key] = text
    return kept, problem


def _by_rank(texts: Mapping[str, str]) -> Iterator[str]:
    """Yield the keys, those that are read first; no sorting, there may be a hundred thousand."""
    yield from (key for key in _IN_ORDER if key in texts)
    yield from (key for key in texts if key not in READ)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
