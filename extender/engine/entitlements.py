"""What a namespace may expect, as the annotations of it and of its ResourceQuotas say."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from extender.engine.snapshot import Snapshot
from extender.policy import fair_share
from extender.policy.fair_share import Entitlement
from shared import labels
from shared.errors import InputError

_NUMBER: Final = re.compile(r"[0-9]{1,4}(\.[0-9]{1,9})?")


def entitlement(namespace: str, snapshot: Snapshot) -> tuple[Entitlement, str]:
    """Return what a namespace may expect and, if annotations cannot be used, what is wrong.

    The Namespace's annotation wins over those of its ResourceQuotas, of which the largest weight
    and guarantee count, and the smallest limit.
    """
    reads = (
        _read(labels.WEIGHT, "weight", max, namespace, snapshot),
        _read(labels.GUARANTEED_SHARE, "guaranteed", max, namespace, snapshot),
        _read(labels.BORROWING_LIMIT, "borrowing", min, namespace, snapshot),
    )
    numbers = {name: value for name, value, _ in reads if value is not None}
    problems = "; ".join(problem for *_, problem in reads if problem)
    return Entitlement(**numbers), problems


def stated(namespace: str, key: str, snapshot: Snapshot) -> list[str]:
    """Return what a namespace says by that annotation, else what each of its quotas says."""
    found = snapshot.namespaces.get(namespace)
    text = found.annotations.get(key) if found else None
    if text:
        return [text]
    quotas = (quota.annotations.get(key) for quota in snapshot.quotas.get(namespace, ()))
    return [text for text in quotas if text is not None]


def _read(
    key: str,
    name: str,
    choose: Callable[[Iterable[float]], float],
    namespace: str,
    snapshot: Snapshot,
) -> tuple[str, float | None, str]:
    """Return the name, the number if one is stated, and what is wrong."""
    least, most = fair_share.BOUNDS[name]
    texts = stated(namespace, key, snapshot)
    numbers = [(text, float(text)) for text in texts if _NUMBER.fullmatch(text)]
    good = {text: number for text, number in numbers if least <= number <= most}
    bad = next((text for text in texts if text not in good), None)
    problem = ""
    if bad is not None:
        field = f"annotation {key} of namespace {namespace}"
        problem = str(InputError(field, bad, f"a number from {least:g} to {most:g}"))
    return name, choose(good.values()) if good else None, problem
