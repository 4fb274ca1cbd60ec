"""What a node's status and annotations say of its health and its end."""

from typing import Final

from shared import labels
from shared.kube import interned, stamps, wire

_MOST_CONDITIONS: Final = 64
"""Conditions of a node that are kept; node-problem-detector's own files declare some twenty."""


def conditions(status: wire.NodeStatus) -> tuple[tuple[str, ...], float]:
    """Return the types that are True, but for Ready, and since when Ready is Unknown (0.0: not)."""
    raised, unreachable_since = list[str](), 0.0
    for condition in status.conditions or ():
        if condition.type == "Ready":
            if condition.status == "Unknown":
                unreachable_since = stamps.parse(condition.last_transition_time)
        elif condition.status == "True":
            raised.append(interned.text(condition.type))
    return tuple(raised[:_MOST_CONDITIONS]), unreachable_since


def leaves_at(meta: wire.Meta) -> float | None:
    """Return the time that the annotation names, 0.0 if it names none, None if there is none."""
    text = (meta.annotations or {}).get(labels.LEAVING)
    if text is None:
        return None
    try:
        return stamps.parse(text)
    except ValueError:
        return 0.0
