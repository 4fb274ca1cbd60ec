"""Training jobs that share machines, in continuous time: no pods, no API, only shares and moves.

Between two events every rate is constant, so that the run is exact. A task that moves stands still
for the pause and counts on its new host from the start of it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from shared.model import NodeName, Uid
from simulator.models import processor_sharing
from simulator.models.loss_curves import LossCurve

NEARLY_ALL: Final = 0.95
"""Of the loss reduction: the other time that counts beside completion."""


@dataclass(frozen=True)
class Task:
    """A training job on one host.

    Attributes:
        uid: Unique.
        arrives_at: Seconds.
        work: Seconds it takes with a whole host for itself.
        host: Where it is placed first.
        curve: How its loss falls with the part of the work that is done.
        reported: What its log says after each iteration; iterations are equal parts of the work.
        most: Most of a host it can use (its threads), above 0 to 1.
        estimate_ratio: Predicted remaining work divided by the true one.
    """

    uid: Uid
    arrives_at: float
    work: float
    host: NodeName
    curve: LossCurve
    reported: tuple[float, ...]
    most: float = 1.0
    estimate_ratio: float = 1.0


@dataclass(slots=True)
class Running:
    """A task that has arrived and not ended.

    Attributes:
        task: What runs.
        host: Where it is, or where it is going.
        since: When it came there.
        moves: How often it was moved.
        done: Work done at ``at``.
        rate: Work a second since then; 0 in a pause.
        ends_at: When it will be done if nothing changes.
        paused_until: End of its last pause.
        nearly_at: When 95 % of the loss reduction were there; None: not yet.
    """

    task: Task
    host: NodeName
    since: float
    at: float
    goal: float
    moves: int = 0
    done: float = 0.0
    rate: float = 0.0
    ends_at: float = math.inf
    paused_until: float = -math.inf
    nearly_at: float | None = None


@dataclass(frozen=True)
class Relocation:
    """A move as it was made."""

    at: float
    uid: Uid
    source: NodeName
    target: NodeName


@dataclass
class Run:
    """What came of a run.

    Attributes:
        ended: When each task was done.
        nearly: When 95 % of its loss reduction were there.
        relocations: Moves in the order in which they began.
        delivered: Work done on each host.
    """

    ended: dict[Uid, float] = field(default_factory=dict)
    nearly: dict[Uid, float] = field(default_factory=dict)
    relocations: list[Relocation] = field(default_factory=list)
    delivered: dict[NodeName, float] = field(default_factory=dict)


class Rule(Protocol):
    """Something that looks on and may move tasks; one object for one run."""

    def look(self, fluid: "Fluid", *, ticked: bool) -> None:
        """Look after arrivals and ends, and at ticks (``ticked``)."""
        ...


class Weigher(Protocol):
    """Who gets which part of a busy host."""

    def weights(self, fluid: "Fluid", tasks: Sequence[Running]) -> Sequence[float]:
        """Return the weights of tasks on one host, above 0; none of them pauses."""
        ...


class Fluid:
    """The hosts and what runs on them; made for one run.

    Attributes:
        now: Seconds.
        running: In the order of arrival.
        run: What has come of it so far.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        hosts: Sequence[NodeName],
        *,
        pause_seconds: float = 5.0,
        slowdown: float = 0.0,
    ) -> None:
        self.now = 0.0
        self.running: dict[Uid, Running] = {}
        self.run = Run(delivered=dict.fromkeys(hosts, 0.0))
        self._here: dict[NodeName, dict[Uid, Running]] = {host: {} for host in hosts}
        self._next_end = dict.fromkeys(hosts, math.inf)
        self._changed: set[NodeName] = set()
        self._pausing: list[Running] = []
        self._coming = sorted(tasks, key=lambda task: (task.arrives_at, task.uid), reverse=True)
        self._pause_seconds = pause_seconds
        self._slowdown = slowdown

    def on(self, host: NodeName) -> list[Running]:
        """The tasks of a host, those on their way to it included."""
        return list(self._here[host].values())

    def counts(self) -> dict[NodeName, int]:
        """How many tasks each host has."""
        return {host: len(tasks) for host, tasks in self._here.items()}

    def use_ratio(self, host: NodeName) -> float:
        """The part of a host that was in use just before."""
        return min(1.0, sum(running.rate for running in self._here[host].values()))

    def done(self, running: Running) -> float:
        """The work of a task that is done."""
        return running.done + running.rate * (self.now - running.at)

    def iteration(self, running: Running) -> int:
        """How many iterations of a task are complete."""
        task = running.task
        count = len(task.reported)
        return min(count, int(self.done(running) / task.work * count))

    def is_pausing(self, running: Running) -> bool:
        """Say whether a task stands still because it was moved."""
        return running.paused_until > self.now

    def move(self, uid: Uid, target: NodeName) -> None:
        """Begin to move a task.

        Raises:
            ValueError: It is there already, or on its way.
        """
        running = self.running[uid]
        if running.host == target or self.is_pausing(running):
            raise ValueError(f"{uid}: on {running.host} or on its way there, cannot go to {target}")
        self.run.relocations.append(Relocation(self.now, uid, running.host, target))
        self._settle(running)
        del self._here[running.host][uid]
        self._changed |= {running.host, target}
        self._here[target][uid] = running
        running.host, running.since = target, self.now
        running.moves += 1
        running.rate, running.ends_at = 0.0, math.inf
        running.paused_until = self.now + self._pause_seconds
        self._pausing.append(running)

    def play(
        self,
        rules: Sequence[Rule] = (),
        weigher: Weigher | None = None,
        interval_seconds: float | None = None,
    ) -> Run:
        """Run until the last task is done.

        Args:
            rules: Asked in this order.
            weigher: None: equal weights. Weights are set anew where a host's tasks change, and at
                ticks.
            interval_seconds: Ticks are at its multiples; None: there are none.
        """
        ticks = 0
        while self._coming or self.running:
            tick_at = math.inf if interval_seconds is None else (ticks + 1) * interval_seconds
            self.now = min(tick_at, self._next_event())
            self._resume()
            happened = self._end() | self._arrive()
            ticked = self.now == tick_at
            ticks += ticked
            if happened or ticked:
                for rule in rules:
                    rule.look(self, ticked=ticked)
            everywhere = ticked and weigher is not None
            for host in self._here if everywhere else [h for h in self._here if h in self._changed]:
                self._share(host, weigher)
            self._changed.clear()
        return self.run

    def _next_event(self) -> float:
        arrival = self._coming[-1].arrives_at if self._coming else math.inf
        resumed = min((running.paused_until for running in self._pausing), default=math.inf)
        return min(arrival, resumed, *self._next_end.values())

    def _resume(self) -> None:
        for running in [r for r in self._pausing if r.paused_until <= self.now]:
            self._pausing.remove(running)
            self._changed.add(running.host)

    def _end(self) -> bool:
        hosts = [host for host, at in self._next_end.items() if at <= self.now]
        for host in hosts:
            for running in [r for r in self._here[host].values() if r.ends_at <= self.now]:
                self._settle(running)
                uid = running.task.uid
                self.run.ended[uid] = self.now
                self.run.nearly[uid] = self.now if running.nearly_at is None else running.nearly_at
                del self._here[host][uid], self.running[uid]
            self._changed.add(host)
        return bool(hosts)

    def _arrive(self) -> bool:
        arrived = False
        while self._coming and self._coming[-1].arrives_at <= self.now:
            task = self._coming.pop()
            goal = task.work * task.curve.share_at(NEARLY_ALL)
            running = Running(task, task.host, self.now, self.now, goal)
            self.running[task.uid] = self._here[task.host][task.uid] = running
            self._changed.add(task.host)
            arrived = True
        return arrived

    def _settle(self, running: Running) -> None:
        """Write down what was done since the rate was set."""
        done = running.task.work if running.ends_at <= self.now else self.done(running)
        if running.nearly_at is None and running.rate and done >= running.goal:
            running.nearly_at = running.at + (running.goal - running.done) / running.rate
        self.run.delivered[running.host] += done - running.done
        running.done, running.at = done, self.now

    def _share(self, host: NodeName, weigher: Weigher | None) -> None:
        sharing = []
        for running in self._here[host].values():
            self._settle(running)
            if not self.is_pausing(running):
                sharing.append(running)
        limits = [running.task.most for running in sharing]
        weights = None if weigher is None or not sharing else weigher.weights(self, sharing)
        factor = processor_sharing.interference(limits, self._slowdown)
        for running, share in zip(
            sharing, processor_sharing.shares(1.0, limits, weights), strict=True
        ):
            running.rate = share * factor
            running.ends_at = self.now + (running.task.work - running.done) / running.rate
        self._next_end[host] = min((running.ends_at for running in sharing), default=math.inf)
