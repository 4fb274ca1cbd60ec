"""PodDisruptionBudgets: how many pods each lets go, and whether several may go at the same time.

A dry-run eviction answers for one pod; a gang whose members share one budget needs the sum.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from shared import labels
from shared.kube import wire
from shared.kube.errors import BrokenAnswerError
from shared.kube.parse import Data, names_the_object
from shared.objects.disruptions import BUDGET_PREFIX, PodDisruptionBudget
from shared.objects.label_selectors import LabelSelector


class Spec(Struct):
    """``spec``."""

    selector: LabelSelector | None = None
    min_available: int | str | None = msgspec.field(default=None, name="minAvailable")


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
_ONE: Final = msgspec.json.Decoder(Budget)


@names_the_object
def decode(data: Data) -> PodDisruptionBudget:
    """Return a PodDisruptionBudget; one with more conditions than are read selects all pods.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _ONE.decode(data)
    selector = raw.spec.selector if raw.spec else None
    owner = _owner(raw.metadata)
    least = raw.spec.min_available if raw.spec else None
    return PodDisruptionBudget(
        owner=owner,
        uid=raw.metadata.uid or "" if owner else "",
        min_available=least if owner and isinstance(least, int) else 0,
        namespace=raw.metadata.namespace or "",
        name=raw.metadata.name,
        selector=selector if selector is None or selector.small else LabelSelector(),
        allowed=max(0, raw.status.disruptions_allowed) if raw.status else 0,
    )


def _owner(meta: wire.Meta) -> str:
    """Return the uid of the owner of a budget of ours; empty if it is not ours."""
    if labels.DRAIN_BUDGET not in (meta.labels or {}):
        return ""
    owners = (owner.uid for owner in meta.owner_references or ())
    return next((uid for uid in owners if meta.name == f"{BUDGET_PREFIX}{uid}"), "")


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
