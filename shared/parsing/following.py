"""Which of the metrics that were read is followed, and why none is. Pure."""

from collections.abc import Collection, Mapping
from math import log10
from typing import Final

from shared.parsing import metric_names

SETTLED_POINTS: Final = 2
"""Values that a preferred metric must have before it replaces another one."""
UNREAD_LINES: Final = 100
"""Lines without a value after which a report says so."""
MOST_SHOWN: Final = 20
"""Names of series that are shown to a user."""


def followed(
    points: Mapping[str, int],
    names: Collection[str],
    stated: str | None,
    *,
    finite: Collection[str],
) -> str | None:
    """Return the metric to follow; None if none is known, or several are equally good.

    A loss that never was a number says nothing of the run while another one is: a validation on
    data without labels is NaN from the first line on. A finite accuracy does not outweigh it: that
    of a run which has diverged is finite, too.

    Args:
        points: Values so far of each metric that may be followed.
        names: All metrics so far, also those that are not followed.
        stated: The metric that the user named.
        finite: The metrics that had a finite value so far.
    """
    if stated is not None:
        return stated if stated in points else None
    if any(name in finite and metric_names.is_whole_loss(name) for name in points):
        points = {name: count for name, count in points.items() if name in finite}
    settled = [name for name, count in points.items() if count >= SETTLED_POINTS] or list(points)
    metric = settled[0] if len(settled) == 1 else metric_names.preferred(settled)
    return None if len(equals(names, metric)) > 1 else metric


def equals(names: Collection[str], metric: str | None) -> list[str]:
    """Return the names that are as good as the metric, itself included."""
    best = metric_names.best_of(names)
    return best if metric is None or metric in best else [metric]


def why_none(names: Collection[str], stated: str | None) -> str:
    """Return why no metric is followed although there are some."""
    ordered = sorted(names)
    more = len(ordered) - MOST_SHOWN
    shown = ", ".join(ordered[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
    if stated is not None:
        return f"there is no series {stated!r}; there are: {shown}"
    if len(alike := equals(names, None)) > 1:
        shown = ", ".join(alike[:MOST_SHOWN])
        return f"several series are equally good, name one with metric=…: {shown}"
    return f"none of the series is known as a loss, name one with metric=…: {shown}"


def why_no_values(lines: int, hint: str) -> str:
    """Return that nothing is understood, once enough was read; in steps, as each is reported.

    Args:
        lines: Lines read so far.
        hint: A pattern that might read values; empty if none is known.
    """
    if lines < UNREAD_LINES:
        return ""
    return f"{10 ** int(log10(lines))} lines or more read, no values found: {advice(hint)}"


def advice(hint: str) -> str:
    """Return what a user can do about a log in which no value is found."""
    return f"did you mean regex={hint}" if hint else "set format=… or regex=…"
