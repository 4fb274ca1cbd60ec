"""All pods of the node: which exist, their commands, and what is due."""

import logging
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from agent.budgets import NODE_MEMORY_BYTES
from agent.checkpoint.rules import Outcome
from agent.reporting import bodies
from agent.tracking.pod import PodRead, TrackedPod
from agent.tracking.source import Counts
from agent.tracking.sources import NodeContext
from shared.clock import Clock
from shared.model import Uid
from shared.progress import PodReport
from shared.wire import Command, Event, PodPlace

LEAST_PAUSE_SECONDS: Final = 1.0
MOST_PAUSE_SECONDS: Final = 5.0
TURN_CPU_SECONDS: Final = 0.25
"""CPU time of one turn; an agent that restarts on a full node reads a long past in many turns."""
LONGEST_TURN_SECONDS: Final = 5.0
"""On a slow volume a turn ends early; commands and checkpoints come first in the next one."""
MOST_REMEMBERED: Final = 256
"""Commands that are remembered as logged."""

log = logging.getLogger(__name__)


class Turn(Struct, frozen=True, kw_only=True):
    """Result of one turn over all pods.

    Attributes:
        reports: Reports of all pods.
        events: Events since the previous turn.
        urgent: A report has an urgent change.
        outcomes: Outcomes of the commands.
        counts: Amounts read of each source.
        files: Followed files.
    """

    reports: Mapping[Uid, PodReport]
    events: tuple[Event, ...]
    urgent: bool
    outcomes: tuple[Outcome, ...]
    counts: tuple[Counts, ...]
    files: int


class Tracker:
    """See the module. ``turn`` blocks; one thread does everything.

    Args:
        context: What all pods share.
        clock: For stamps and due times.
        cpu_seconds: CPU time of one turn.

    Attributes:
        at: The pod that is being read, to name it if reading hangs.
    """

    def __init__(
        self, context: NodeContext, clock: Clock, *, cpu_seconds: float = TURN_CPU_SECONDS
    ) -> None:
        self.at = ""
        self._least_seconds = min(
            LEAST_PAUSE_SECONDS,
            context.interval_seconds,
            context.checkpoint_seconds,
            context.asked_seconds,
        )
        self._context = context
        self._clock = clock
        self._cpu_seconds = cpu_seconds
        self._places: Mapping[Uid, PodPlace] = {}
        self._pods: dict[Uid, TrackedPod] = {}
        self._logged: OrderedDict[tuple[str, str, str, Outcome], None] = OrderedDict()

    def turn(self, places: Mapping[Uid, PodPlace], commands: Sequence[Command]) -> Turn:
        """Update the pods, carry out commands, and read what is due.

        Checkpoint directories come before metrics: an answer there is urgent.
        """
        self._update_pods(places)
        outcomes = tuple(self._carry_out(command) for command in commands)
        urgent = [self._check_checkpoint(pod) for pod in self._pods.values()]
        reads = list(self._read_in_turn())
        return Turn(
            reports={uid: pod.report for uid, pod in self._pods.items()},
            events=tuple(event for uid, read in reads for event in _events(uid, read)),
            urgent=any(urgent) or any(read.urgent for _, read in reads),
            outcomes=outcomes,
            counts=tuple(counts for _, read in reads for counts in read.counts),
            files=sum(pod.files for pod in self._pods.values()),
        )

    def pause_seconds(self) -> float:
        """Return the time to the next turn, unless something happens."""
        due_at = min((pod.due_at for pod in self._pods.values()), default=float("inf"))
        left_seconds = due_at - self._clock.monotonic()
        return max(self._least_seconds, min(left_seconds, MOST_PAUSE_SECONDS))

    def _check_checkpoint(self, pod: TrackedPod) -> bool:
        self.at = pod.label
        return pod.check_checkpoint(self._clock.monotonic())

    def _read_in_turn(self) -> Iterator[tuple[Uid, PodRead]]:
        """Read pods that are due, as far as time allows.

        Cheap ones come first; among equals, those that were read longest ago.
        """
        begun_at, used_seconds = self._clock.monotonic(), 0.0
        held_bytes = sum(pod.held_bytes for pod in self._pods.values())
        for uid in sorted(self._pods, key=lambda uid: not self._pods[uid].allowance.is_ordinary):
            monotonic = self._clock.monotonic()
            pod = self._pods[uid]
            if pod.due(monotonic):
                self.at = pod.label
                held_bytes -= pod.held_bytes
                yield uid, pod.read(self._clock.now(), monotonic)
                self._pods[uid] = self._pods.pop(uid)
                held_bytes = self._fit_memory(held_bytes + pod.held_bytes)
                used_seconds += pod.allowance.last_seconds
            if used_seconds > self._cpu_seconds or monotonic - begun_at > LONGEST_TURN_SECONDS:
                return

    def _fit_memory(self, held_bytes: int) -> int:
        """Drop sources of the largest pods until all fit; return the memory of all pods."""
        while held_bytes > NODE_MEMORY_BYTES:
            largest = max(self._pods.values(), key=lambda pod: pod.held_bytes)
            held_bytes -= largest.held_bytes
            dropped = largest.drop_largest()
            held_bytes += largest.held_bytes
            if not dropped:
                break
        return held_bytes

    def _update_pods(self, places: Mapping[Uid, PodPlace]) -> None:
        """Start and stop tracking pods; one whose annotations or place changed is restarted."""
        if places is self._places:
            return
        self._places = places
        for uid in [u for u, pod in self._pods.items() if places.get(u) != pod.place]:
            self._pods.pop(uid).close()
        for uid, place in places.items():
            if uid not in self._pods:
                self._pods[uid] = TrackedPod(place, self._context)

    def _carry_out(self, command: Command) -> Outcome:
        pod = self._pods.get(Uid(command.uid))
        self.at = f"command {command.id}"
        outcome = pod.carry_out(command, self._clock.now()) if pod else Outcome.REFUSED
        if self._is_news(command, outcome):
            name = pod.label if pod else "a pod that is not on this node"
            level = logging.INFO if outcome is Outcome.WRITTEN else logging.WARNING
            fields = {"request": command.id, "uid": command.uid, "outcome": outcome.value}
            log.log(level, "%s for %s", command.kind, name, extra=fields)
        return outcome

    def _is_news(self, command: Command, outcome: Outcome) -> bool:
        """Return True if the outcome was not logged: commands repeat with every heartbeat."""
        if outcome is Outcome.REPEATED:
            return False
        key = (command.kind, command.id, command.uid, outcome)
        was_logged = key in self._logged
        self._logged[key] = None
        while len(self._logged) > MOST_REMEMBERED:
            self._logged.popitem(last=False)
        return not was_logged


def _events(uid: Uid, read: PodRead) -> Iterator[Event]:
    for event in read.events:
        yield bodies.event(uid, event.at, event.kind, event.detail)
