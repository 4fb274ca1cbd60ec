"""All pods of the node: who is there, what was commanded, what is due."""

import logging
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from agent.budgets import NODE_MEMORY_BYTES
from agent.checkpoint.rules import Outcome
from agent.reporting import bodies
from agent.tracking.pod import Look, TrackedPod
from agent.tracking.source import Counts
from agent.tracking.sources import Surroundings
from shared.clock import Clock
from shared.model import Uid
from shared.progress import PodReport
from shared.wire import Command, Event, PodPlace

LEAST_PAUSE_SECONDS: Final = 1.0
MOST_PAUSE_SECONDS: Final = 5.0
TURN_CPU_SECONDS: Final = 0.25
"""An agent that starts anew on a full node has a long past to read: it takes its time for it."""
LONGEST_TURN_SECONDS: Final = 5.0
"""On a slow volume, a turn ends in the middle; commands and checkpoints come first in the next."""
MOST_REMEMBERED: Final = 256
"""Commands of which it is remembered that the log has them."""

log = logging.getLogger(__name__)


class Turn(Struct, frozen=True, kw_only=True):
    """What one turn round all pods gave.

    Attributes:
        reports: Of all pods.
        events: What happened since the turn before.
        urgent: Something changed that must not wait.
        outcomes: What became of the commands.
        counts: Of the sources that were read.
        files: How many are followed.
    """

    reports: Mapping[Uid, PodReport]
    events: tuple[Event, ...]
    urgent: bool
    outcomes: tuple[Outcome, ...]
    counts: tuple[Counts, ...]
    files: int


class Tracker:
    """See the module. ``turn`` blocks; everything is done by one thread.

    Args:
        around: What all pods share.
        clock: For stamps and for what is due.
        cpu_seconds: What one turn may cost.

    Attributes:
        at: The pod that is being read, for the case that this does not end.
    """

    def __init__(
        self, around: Surroundings, clock: Clock, *, cpu_seconds: float = TURN_CPU_SECONDS
    ) -> None:
        self.at = ""
        self._least_seconds = min(
            LEAST_PAUSE_SECONDS,
            around.interval_seconds,
            around.checkpoint_seconds,
            around.asked_seconds,
        )
        self._around = around
        self._clock = clock
        self._cpu_seconds = cpu_seconds
        self._places: Mapping[Uid, PodPlace] = {}
        self._pods: dict[Uid, TrackedPod] = {}
        self._logged: OrderedDict[tuple[str, str, Outcome], None] = OrderedDict()

    def turn(self, places: Mapping[Uid, PodPlace], commands: Sequence[Command]) -> Turn:
        """Take over who is there, carry out commands, and read what is due.

        Checkpoint directories come before metrics: an answer there must not wait.
        """
        self._keep_up(places)
        outcomes = tuple(self._carry_out(command) for command in commands)
        urgent = [self._look(pod) for pod in self._pods.values()]
        looks = list(self._read_in_turn())
        return Turn(
            reports={uid: pod.report for uid, pod in self._pods.items()},
            events=tuple(event for uid, look in looks for event in _events(uid, look)),
            urgent=any(urgent) or any(look.urgent for _, look in looks),
            outcomes=outcomes,
            counts=tuple(counts for _, look in looks for counts in look.counts),
            files=sum(pod.files for pod in self._pods.values()),
        )

    def pause_seconds(self) -> float:
        """Return how long to wait for the next turn, if nothing happens."""
        due_at = min((pod.due_at for pod in self._pods.values()), default=float("inf"))
        left_seconds = due_at - self._clock.monotonic()
        return max(self._least_seconds, min(left_seconds, MOST_PAUSE_SECONDS))

    def _look(self, pod: TrackedPod) -> bool:
        self.at = pod.words
        return pod.look(self._clock.monotonic())

    def _read_in_turn(self) -> Iterator[tuple[Uid, Look]]:
        """Read pods that are due, as far as time allows.

        Those that cost little come first; among equals, those that were read longest ago.
        """
        begun_at, begun_cpu = self._clock.monotonic(), time.thread_time()
        held_bytes = sum(pod.held_bytes for pod in self._pods.values())
        for uid in sorted(self._pods, key=lambda one: not self._pods[one].allowance.is_ordinary):
            monotonic = self._clock.monotonic()
            pod = self._pods[uid]
            if pod.due(monotonic):
                self.at = pod.words
                held_bytes -= pod.held_bytes
                yield uid, pod.read(self._clock.now(), monotonic)
                self._pods[uid] = self._pods.pop(uid)
                held_bytes = self._within_memory(held_bytes + pod.held_bytes)
            used = time.thread_time() - begun_cpu
            if used > self._cpu_seconds or monotonic - begun_at > LONGEST_TURN_SECONDS:
                return

    def _within_memory(self, held_bytes: int) -> int:
        """Have the pods that keep most give up most; return what all keep together then."""
        while held_bytes > NODE_MEMORY_BYTES:
            largest = max(self._pods.values(), key=lambda pod: pod.held_bytes)
            held_bytes -= largest.held_bytes
            dropped = largest.drop_largest()
            held_bytes += largest.held_bytes
            if not dropped:
                break
        return held_bytes

    def _keep_up(self, places: Mapping[Uid, PodPlace]) -> None:
        """A pod whose annotations or place changed is begun anew."""
        if places is self._places:
            return
        self._places = places
        for uid in [u for u, pod in self._pods.items() if places.get(u) != pod.place]:
            self._pods.pop(uid).close()
        for uid, place in places.items():
            if uid not in self._pods:
                self._pods[uid] = TrackedPod(place, self._around)

    def _carry_out(self, command: Command) -> Outcome:
        pod = self._pods.get(Uid(command.uid))
        self.at = f"command {command.id}"
        outcome = pod.carry_out(command, self._clock.now()) if pod else Outcome.REFUSED
        if self._is_news(command, outcome):
            name = pod.words if pod else "a pod that is not here"
            level = logging.INFO if outcome is Outcome.WRITTEN else logging.WARNING
            fields = {"request": command.id, "uid": command.uid, "outcome": outcome.value}
            log.log(level, "%s for %s", command.kind, name, extra=fields)
        return outcome

    def _is_news(self, command: Command, outcome: Outcome) -> bool:
        """Commands are repeated with every heartbeat; the log has each outcome once."""
        if outcome is Outcome.REPEATED:
            return False
        key = (command.kind, command.id, outcome)
        known = key in self._logged
        self._logged[key] = None
        while len(self._logged) > MOST_REMEMBERED:
            self._logged.popitem(last=False)
        return not known


def _events(uid: Uid, look: Look) -> Iterator[Event]:
    for one in look.happenings:
        yield bodies.event(uid, one.at, one.kind, one.detail)
