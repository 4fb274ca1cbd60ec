"""The node's current state: written by the loops that measure, read by those that report."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from agent.reporting.outbox import NodeState, Outbox
from shared.model import Uid
from shared.progress import GpuHealth, PodReport, Use
from shared.wire import Event, PodPlace


@dataclass
class Board:
    """See the module. Only used on the event loop.

    Attributes:
        places: Our pods on this node, as sent by the extender; None before that.
        outboxes: One for each replica; they get every new event.
        known: Set once the pods' files were read, or could not be: before that there is nothing
            to report.
    """

    places: Mapping[Uid, PodPlace] | None = None
    outboxes: list[Outbox] = field(default_factory=list)
    known: asyncio.Event = field(default_factory=asyncio.Event)
    _reports: Mapping[Uid, PodReport] = field(default_factory=dict)
    _uses: Mapping[Uid, Use] = field(default_factory=dict)
    _node: tuple[Use | None, float | None, GpuHealth | None] = (None, None, None)
    _problem: str = ""
    _dropped: int = 0
    _state: NodeState | None = None

    def state(self) -> NodeState:
        """Return the current state; the same object until something changes."""
        if self._state is None:
            pods = {uid: self._report(uid) for uid in self.places or ()}
            self._state = NodeState(pods, *self._node)
        return self._state

    def set_pods(self, places: Mapping[Uid, PodPlace]) -> None:
        """Set the pods of the node; forget everything about other pods."""
        self.places = places
        self._reports = {u: r for u, r in self._reports.items() if u in places}
        self._uses = {u: use for u, use in self._uses.items() if u in places}
        self._state = None

    def set_reports(
        self, reports: Mapping[Uid, PodReport], events: Sequence[Event], *, urgent: bool
    ) -> None:
        """Set the reports of the pods; ``urgent``: send them immediately."""
        self._reports = reports
        self._problem = ""
        self._state = None
        self.known.set()
        for outbox in self.outboxes:
            outbox.put(events)
            if urgent:
                outbox.urgent.set()

    def set_use(
        self,
        uses: Mapping[Uid, Use],
        node: Use,
        cpu_cores: float,
        gpus: GpuHealth | None = None,
    ) -> None:
        """Set the use of pods and node, and the state of its GPUs."""
        self._uses = uses
        self._node = (node, cpu_cores, gpus)
        self._state = None

    def set_problem(self, problem: str) -> None:
        """Set a problem of all pods, until their files are read again."""
        if problem != self._problem:
            self._problem = problem
            self._state = None
            self.known.set()

    def dropped(self) -> int:
        """Return the events dropped since the start, for the replica that lost most."""
        self._dropped = max([self._dropped, *(outbox.dropped for outbox in self.outboxes)])
        return self._dropped

    def _report(self, uid: Uid) -> PodReport:
        report = self._reports.get(uid) or PodReport(uid=uid)
        use = self._uses.get(uid)
        if use is None and not self._problem:
            return report
        problem = self._problem or report.problem
        return msgspec.structs.replace(report, use=use, problem=problem)
