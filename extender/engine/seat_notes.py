"""The annotations that say a seat: all of them each time, so that nothing old or foreign stays."""

from collections.abc import Mapping

from extender.engine.commands import ReleasePod, RewriteSeat
from shared import labels


def of_release(command: ReleasePod) -> Mapping[str, str | None]:
    """Return what a release writes; None takes an annotation away."""
    return {
        **_seat(command.node, command.plan, command.plan_size, direct=command.direct),
        labels.DECISION: command.decision,
    }


def of_rewrite(command: RewriteSeat) -> Mapping[str, str | None]:
    """Return what names another node; a promised seat becomes a written one thereby."""
    return _seat(command.node, command.plan, command.plan_size, direct=command.direct)


def _seat(node: str | None, plan: str, plan_size: int, *, direct: bool) -> Mapping[str, str | None]:
    return {
        labels.NODE: node,
        labels.PLAN: plan or None,
        labels.PLAN_SIZE: str(plan_size) if plan_size else None,
        labels.DIRECT: "true" if direct else None,
    }
