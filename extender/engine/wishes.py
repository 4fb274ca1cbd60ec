"""What the user asked for, read from a job's first pod and what stands over it."""

from dataclasses import dataclass

from extender.adapters import registry
from extender.adapters.base import Above
from extender.policy.buckets import Relations
from shared import duration, labels
from shared.errors import InputError
from shared.model import Pod


@dataclass(frozen=True)
class Wishes:
    """See the module.

    Attributes:
        max_wait_seconds: L of CPS; None if not stated.
        relations: Affinity and anti-affinity between roles; None if not declared.
        topology_key: Node label for the buckets' places; None if not stated.
    """

    max_wait_seconds: float | None = None
    relations: Relations | None = None
    topology_key: str | None = None


def read(pod: Pod, above: Above) -> tuple[Wishes, str]:
    """Return the wishes, and what is wrong with them; with a problem none counts."""
    try:
        return Wishes(
            max_wait_seconds=_seconds(pod, above, labels.MAX_WAIT),
            relations=_relations(pod, above),
            topology_key=registry.annotation(pod, above, labels.TOPOLOGY_KEY),
        ), ""
    except InputError as error:
        return Wishes(), str(error)


def _relations(pod: Pod, above: Above) -> Relations | None:
    affinity = registry.annotation(pod, above, labels.AFFINITY)
    anti_affinity = registry.annotation(pod, above, labels.ANTI_AFFINITY)
    if not affinity and not anti_affinity:
        return None
    return Relations.parse(affinity or "", anti_affinity or "")


def _seconds(pod: Pod, above: Above, key: str) -> float | None:
    text = registry.annotation(pod, above, key)
    if text is None:
        return None
    field = f"annotation {key}"
    seconds = duration.parse(text, field=field)
    if seconds <= 0:
        raise InputError(field, text, "a Go duration above 0 such as 20m")
    return seconds
