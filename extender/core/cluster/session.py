"""Inputs that every pass of a decision shares: snapshot, clock readings, parameters.

A session is made once for each pass and never changes, so whatever is read from it twice is the
same both times.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

from msgspec import Struct

from extender.core.cluster.snapshot import Snapshot
from extender.core.parameters.combined import CoreParameters
from shared.model import NodeName, Uid
from shared.progress import NodeReport, PodReport

StateT_co = TypeVar("StateT_co", covariant=True)


class Reading(Struct, frozen=True):
    """Two clock readings: ``now`` in seconds since the epoch, ``monotonic`` for durations."""

    now: float
    monotonic: float


class HasState(Protocol[StateT_co]):
    """A decision, as far as others read its state."""

    @property
    def name(self) -> str:
        """Its kind in the decision log."""
        ...

    def first_state(self) -> StateT_co:
        """Return the state of a decision that was never made."""
        ...


@dataclass(frozen=True)
class States:
    """The latest states of decisions that other decisions read, by name."""

    by_name: Mapping[str, Any] = field(default_factory=dict)

    def of(self, decision: HasState[StateT_co]) -> StateT_co:
        """Return the latest state of a decision; its first state if it was never made."""
        if decision.name not in self.by_name:
            return decision.first_state()
        return cast("StateT_co", self.by_name[decision.name])


@dataclass(frozen=True)
class Session:
    """See the module.

    Attributes:
        snapshot: The cluster.
        reading: When the pass began.
        parameters: All of them.
        states: Of the decisions that this one ``reads``.
    """

    snapshot: Snapshot
    reading: Reading
    parameters: CoreParameters
    states: States = field(default_factory=States)

    @property
    def now(self) -> float:
        """Seconds since the epoch."""
        return self.reading.now

    @property
    def monotonic(self) -> float:
        """Seconds on a clock that is never set."""
        return self.reading.monotonic

    @property
    def stale_seconds(self) -> float:
        """From which age on an agent's report counts no more."""
        return self.parameters.agent_reports.stale_seconds

    def report(self, node: NodeName) -> NodeReport | None:
        """Return the report of a node; None unless it is complete and recent enough.

        A new leader thus waits for the first full report of every agent.
        """
        report = self.snapshot.reports.get(node)
        if report is None or not report.complete:
            return None
        return report if self.monotonic - report.received_at <= self.stale_seconds else None

    def pod_report(self, uid: Uid) -> PodReport | None:
        """Return what the agent of the pod's node reports of it; None if nothing recent."""
        node = self.snapshot.bound.get(uid)
        report = None if node is None else self.report(node)
        return None if report is None else report.pods.get(uid)
