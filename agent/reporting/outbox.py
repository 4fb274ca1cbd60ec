"""What one replica has been told and what it must still be told.

States and events differ: of a state only the latest matters, so a heartbeat that was not answered
is superseded by the next, which again names everything that changed since the last answer. It may
have arrived all the same: what it named is named again, even if it is now as it was before.
Events are kept until they are answered; of too many the oldest of the pod that has most are dropped
and counted.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shared.model import Uid
from shared.progress import PodReport, Use
from shared.wire import Event


@dataclass(frozen=True)
class NodeState:
    """One moment of the node.

    Attributes:
        pods: What is known of each pod of ours.
        use: Of the whole node; None before it was measured.
        cpu_cores: Cores of the node; None before they were counted.
    """

    pods: Mapping[Uid, PodReport] = field(default_factory=dict)
    use: Use | None = None
    cpu_cores: float | None = None


@dataclass(frozen=True)
class Message:
    """What a heartbeat is to say.

    Attributes:
        sequence: Its number for this replica.
        full: ``changed`` is everything.
        state: The moment it speaks of.
        changed: Pods to be told of.
        gone: Pods that were told of and are there no more.
        events: In the order they happened.
        last_event: Number of the last of them.
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
        most_events: How many events are kept for the replica.
        full_every_seconds: How often everything is told again.

    Attributes:
        urgent: Set when something changed that must not wait for the next interval.
        dropped: Events that were dropped.
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
        self._told: Mapping[Uid, PodReport] = {}
        self._unsure: set[Uid] = set()
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
        """Return what to say now; ``monotonic`` is the clock's reading."""
        self._sequence += 1
        full = self._full_wanted or monotonic - self._full_at >= self._full_every_seconds
        told = {} if full else self._told
        changed = tuple(
            report
            for uid, report in state.pods.items()
            if uid in self._unsure or told.get(uid) != report
        )
        gone = () if full else tuple(sorted((self._unsure | told.keys()) - state.pods.keys()))
        self._unsure.update(gone, (report.uid for report in changed))
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
        """Take over that the replica has the message; ``full_wanted``: it wants a full one next."""
        self._told, self._unsure = message.state.pods, set()
        self._full_wanted = full_wanted
        if message.full:
            self._full_at = monotonic
        answered = [number for number in self._events if number <= message.last_event]
        for number in answered:
            self._take(number)

    def _drop(self) -> None:
        """Drop the oldest event of the pod that has most: it does not cost others theirs."""
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
