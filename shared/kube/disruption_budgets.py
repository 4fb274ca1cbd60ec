"""PodDisruptionBudgets: whether several pods may be disrupted at the same time.

A dry-run eviction answers for one pod; a gang whose members share one budget needs the sum.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from shared.kube import wire
from shared.kube.errors import BrokenAnswerError
from shared.label_selectors import LabelSelector


class Spec(Struct):
    """``spec``."""

    selector: LabelSelector | None = None


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


def blocking(data: bytes, pods: Sequence[Mapping[str, str]]) -> str | None:
    """Return the name of a budget that forbids disrupting all these pods at once, or None.

    Args:
        data: The budgets of the pods' namespace, the server's list.
        pods: Labels of the pods.

    Raises:
        BrokenAnswerError: It is not such a list.

    Source:
        k8s.io/api policy/v1: an empty selector selects every pod, a missing one none.
    """
    try:
        budgets = _DECODER.decode(data).items or ()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BrokenAnswerError(str(error)) from error
    for budget in budgets:
        selector = budget.spec.selector if budget.spec else None
        covered = sum(selector is not None and selector.matches(labels) for labels in pods)
        allowed = budget.status.disruptions_allowed if budget.status else 0
        if covered > allowed:
            return budget.metadata.name
    return None
