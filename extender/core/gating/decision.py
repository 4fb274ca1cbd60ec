"""Whether new pods get our scheduling gate (``deploy/components/gate``).

The gate keeps pods away from kube-scheduler until their gang has a place. While no job lacks room
that only costs time: the gate has to be removed again from every pod. So new pods get it only

1. while a job of the queue lacks room, and
2. until none has lacked room for ``quiet_seconds``.

What is decided is never needed for a correct order: a gang without the gate that comes while
another one lacks room joins the queue (``core.scheduler.direct_gangs``).
"""

from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from typing_extensions import override

from extender.core.cluster.session import Decision, Outcome, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.parameters.queue import Gating

KEY: Final = "jobs-wait"
"""Key of the ConfigMap that the admission policy reads."""


class GatePods(Struct, frozen=True, tag=True):
    """Write whether new pods get the gate."""

    gated: bool


class GatingTrigger(Struct, frozen=True):
    """What the pass knows of the queue and of the ConfigMap.

    Attributes:
        lacks_room: A job of the last pass of the queue lacks room, or there was none yet.
        kept: Whether new pods get the gate now.
    """

    lacks_room: bool
    kept: bool


class GatingState(Struct, frozen=True):
    """What one pass leaves for the next.

    Attributes:
        quiet_since: Since when no job has lacked room, monotonic seconds; None while one does.
    """

    quiet_since: float | None = None


@dataclass(frozen=True, kw_only=True)
class GatingOutcome(Outcome[GatingState, GatePods]):
    """What one pass decided.

    Attributes:
        gated: Whether new pods get the gate.
    """

    gated: bool


class GatingDecision(Decision[GatingState, GatingTrigger, GatingOutcome]):
    """See the module."""

    name = "gating"
    state_type = GatingState
    trigger_type = GatingTrigger

    @override
    def decide(self, session: Session, state: GatingState, trigger: GatingTrigger) -> GatingOutcome:
        params, now = session.parameters.gating, session.monotonic
        quiet_since = None
        if not trigger.lacks_room:
            quiet_since = now if state.quiet_since is None else state.quiet_since
        gated = (
            params.when is Gating.ALWAYS
            or quiet_since is None
            or now - quiet_since < params.quiet_seconds
        )
        return GatingOutcome(
            commands=() if gated == trigger.kept else (GatePods(gated),),
            state=GatingState(quiet_since=quiet_since),
            gated=gated,
        )

    @override
    def summary(
        self, snapshot: Snapshot, trigger: GatingTrigger, outcome: GatingOutcome
    ) -> dict[str, object]:
        """Return what is decided, and what is written."""
        return {"gated": outcome.gated, "commands": outcome.commands}


GATING: Final = GatingDecision()


def is_settled(session: Session, state: GatingState, trigger: GatingTrigger) -> bool:
    """Return True if a pass would change nothing and write nothing: it need not be recorded."""
    outcome = GATING.decide(session, state, trigger)
    return outcome.state == state and not outcome.commands
