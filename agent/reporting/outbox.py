"""What one replica has received and what must still be sent to it.

States and events differ. Of a state only the latest matters, so an unanswered heartbeat is
superseded by the next, which has everything that changed since the last answer. The unanswered one
may have arrived: its pods are sent again, even if they are as they were before. Events are kept
until they are answered; of too many the oldest of the pod that has most are dropped and counted.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shared.model import Uid
from shared.progress import GpuHealth, PodReport, Use
from shared.wire import Event


@dataclass(frozen=True)
class NodeState:
    """State of the node at one moment.

    Attributes:
        pods: Report of each of our pods.
        use: Use of the whole node; None before it was measured.
        cpu_cores: Cores of the node; None before they were counted.
        gpus: State of its GPUs; None if it has none.
    """

    pods: Mapping[Uid, PodReport] = field(default_factory=dict)
    use: Use | None = None
    cpu_cores: float | None = None
    gpus: GpuHealth | None = None


@dataclass(frozen=True)
class Message:
    """Content of a heartbeat.

    Attributes:
        sequence: Its number for this replica.
        full: ``changed`` has all pods.
        state: The state it reports.
        changed: Reports to send.
        gone: Pods that were reported and do not exist any more.
        events: In the order in which they happened.
        last_event: Number of the last event.
    """

    sequence: int
    full: bool
    state: NodeState
    changed: tuple[PodReport, ...]
    gone: tuple[Uid, ...]
    events: tuple[Event, ...]
    last_event: int


class Outbox:
    """See the module.

    Args:
        most_events: Events kept for the replica.
        full_every_seconds: How often everything is sent again.

    Attributes:
        urgent: Set when a change must not wait for the next interval.
        dropped: Dropped events.
    """

    def __init__(self, *, most_events: int, full_every_seconds: float) -> None:
        self.urgent = asyncio.Event()
        self.dropped = 0
        self._most_events = most_events
        self._full_every_seconds = full_every_seconds
        self._events: dict[int, Event] = {}
        self._events_of: Counter[str] = Counter()
        self._last_event = 0
        self._sequence = 0
        self._sent: Mapping[Uid, PodReport] = {}
        self._unconfirmed: set[Uid] = set()
        self._full_at = float("-inf")
        self._full_wanted = True

    def put(self, events: Iterable[Event]) -> None:
        """Keep events for the next heartbeat."""
        for event in events:
            self._last_event += 1
            self._events[self._last_event] = event
            self._events_of[event.uid] += 1
            if len(self._events) > self._most_events:
                self._drop()

    def next(self, state: NodeState, *, monotonic: float) -> Message:
        """Return the next message; ``monotonic`` in seconds."""
        self._sequence += 1
        full = self._full_wanted or monotonic - self._full_at >= self._full_every_seconds
        sent = {} if full else self._sent
        changed = tuple(
            report
            for uid, report in state.pods.items()
            if uid in self._unconfirmed or sent.get(uid) != report
        )
        gone = () if full else tuple(sorted((self._unconfirmed | sent.keys()) - state.pods.keys()))
        self._unconfirmed.update(gone, (report.uid for report in changed))
        return Message(
            sequence=self._sequence,
            full=full,
            state=state,
            changed=changed,
            gone=gone,
            events=tuple(self._events.values()),
            last_event=self._last_event,
        )

    def answered(self, message: Message, *, full_wanted: bool, monotonic: float) -> None:
        """Note that the replica has the message; ``full_wanted``: it needs a full one next."""
        self._sent, self._unconfirmed = message.state.pods, set()
        self._full_wanted = full_wanted
        if message.full:
            self._full_at = monotonic
        answered = [number for number in self._events if number <= message.last_event]
        for number in answered:
            self._take(number)

    def _drop(self) -> None:
        """Drop the oldest event of the pod that has most: other pods lose none."""
        most = max(self._events_of.values())
        self._take(
            next(n for n, event in self._events.items() if self._events_of[event.uid] == most)
        )
        self.dropped += 1

    def _take(self, number: int) -> None:
        uid = self._events.pop(number).uid
        self._events_of[uid] -= 1
        if not self._events_of[uid]:
            del self._events_of[uid]
