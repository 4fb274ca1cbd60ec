"""PodDisruptionBudgets: whether several pods may be disrupted at the same time.

A dry-run eviction says it of one pod; a gang whose members are covered by one budget needs the sum.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from shared.kube import wire
from shared.kube.errors import BrokenAnswerError


class Line(Struct):
    """``matchExpressions[]`` of a label selector."""

    key: str
    operator: str
    values: list[str] | None = None


class Selector(Struct, rename="camel"):
    """``spec.selector``."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[Line] | None = None


class Spec(Struct):
    """``spec``."""

    selector: Selector | None = None


class Status(Struct, rename="camel"):
    """``status``."""

    disruptions_allowed: int = 0


class Budget(Struct):
    """A PodDisruptionBudget."""

    metadata: wire.Meta
    spec: Spec | None = None
    status: Status | None = None


class Budgets(Struct):
    """A list of them."""

    items: list[Budget] | None = None


_DECODER: Final = msgspec.json.Decoder(Budgets)


def blocking(data: bytes, pods: Sequence[Mapping[str, str]]) -> str:
    """Return the name of a budget that forbids to disrupt all these pods at once; empty if none.

    Args:
        data: The budgets of the pods' namespace, a list as the server sends it.
        pods: Labels of the pods.

    Raises:
        BrokenAnswerError: It is not such a list.

    Source:
        k8s.io/api policy/v1: an empty selector is every pod's, a missing one nobody's.
    """
    try:
        found = _DECODER.decode(data).items or ()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BrokenAnswerError(str(error)) from error
    for budget in found:
        selector = budget.spec.selector if budget.spec else None
        covered = sum(selector is not None and _matches(selector, labels) for labels in pods)
        allowed = budget.status.disruptions_allowed if budget.status else 0
        if covered > allowed:
            return budget.metadata.name
    return ""


def _matches(selector: Selector, labels: Mapping[str, str]) -> bool:
    pairs = (selector.match_labels or {}).items()
    return all(labels.get(key) == value for key, value in pairs) and _lines(
        selector.match_expressions or (), labels
    )


def _lines(lines: Iterable[Line], labels: Mapping[str, str]) -> bool:
    return all(_line(line, labels.get(line.key)) for line in lines)


def _line(line: Line, value: str | None) -> bool:
    match line.operator:
        case "In":
            return value in (line.values or ())
        case "NotIn":
            return value not in (line.values or ())
        case "Exists":
            return value is not None
        case _:
            return value is None
