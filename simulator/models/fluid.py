"""Fluid model: training jobs that share machines in continuous time, without pods or an API.

Rates are constant between two events, so a run is exact. A moving task pauses, and counts on its
new host from the start of the pause.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, Protocol

from shared.model import NodeName, Uid
from simulator.models.fluid_tasks import Relocation, Run, Running, Task

NEARLY_ALL: Final = 0.95
"""Share of the loss reduction whose time is reported beside completion."""


class Rule(Protocol):
    """A rule that may move tasks; one object per run."""

    def act(self, fluid: "Fluid", *, ticked: bool) -> None:
        """Move tasks after arrivals and completions, and at ticks (``ticked``)."""
        ...


class Weigher(Protocol):
    """Sets the weights by which tasks share a busy host."""

    def weights(self, fluid: "Fluid", tasks: Sequence[Running]) -> Sequence[float]:
        """Return the weights, above 0, of tasks on one host, none of which pauses."""
        ...


class Fluid:
    """The hosts and their tasks; made for one run.

    Attributes:
        now: Seconds.
        running: Tasks in the order of arrival.
        run: Results so far.
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
        """Return the tasks of a host, including those moving to it."""
        return list(self._here[host].values())

    def counts(self) -> dict[NodeName, int]:
        """Return the number of tasks by host."""
        return {host: len(tasks) for host, tasks in self._here.items()}

    def use_ratio(self, host: NodeName) -> float:
        """Return the share of a host in use just before now."""
        return min(1.0, sum(running.rate for running in self._here[host].values()))

    def done(self, running: Running) -> float:
        """Return the work that a task has done."""
        return running.done + running.rate * (self.now - running.at)

    def iteration(self, running: Running) -> int:
        """Return the number of complete iterations of a task."""
        task = running.task
        count = len(task.reported)
        return min(count, int(self.done(running) / task.work * count))

    def is_pausing(self, running: Running) -> bool:
        """Return True if a task pauses because it was moved."""
        return running.paused_until > self.now

    def move(self, uid: Uid, target: NodeName) -> None:
        """Begin to move a task.

        Raises:
            ValueError: It is on the target already, or moving there.
        """
        running = self.running[uid]
        if running.host == target or self.is_pausing(running):
            raise ValueError(
                f"{uid}: is on {running.host} or moving there, cannot move to {target}"
            )
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
        """Run until the last task completes.

        Args:
            rules: Called in this order.
            weigher: None: equal weights. Weights are updated where a host's tasks change, and at
                ticks.
            interval_seconds: Interval of ticks; None: no ticks.
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
                    rule.act(self, ticked=ticked)
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
        """Add the work done since the rate was set."""
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
        factor = interference(limits, self._slowdown)
        for running, share in zip(sharing, cpu_shares(1.0, limits, weights), strict=True):
            running.rate = share * factor
            running.ends_at = self.now + (running.task.work - running.done) / running.rate
        self._next_end[host] = min((running.ends_at for running in sharing), default=math.inf)


def cpu_shares(
    capacity: float, limits: Sequence[float], weights: Sequence[float] | None = None
) -> list[float]:
    """Return the part of ``capacity`` each task gets, in the order given.

    Each task gets capacity in proportion to its weight, but no more than its limit; what a limit
    leaves is shared among the others in the same way. No capacity stays idle that a task can use.

    Args:
        capacity: Of the machine, 0 or above.
        limits: Most that each task can use, in the same unit, 0 or above.
        weights: Above 0; None: all equal.
    """
    if sum(limits) <= capacity:
        return list(limits)
    count = len(limits)
    equal = capacity / count
    if weights is None:
        if min(limits) >= equal:
            return [equal] * count
        weights = [1.0] * count
    order = sorted(range(count), key=lambda i: (limits[i] / weights[i], i))
    together = list(accumulate(weights[i] for i in reversed(order)))[::-1]
    parts, left = [0.0] * count, capacity
    for i, weight in zip(order, together, strict=True):
        parts[i] = min(limits[i], left * weights[i] / weight)
        left = max(0.0, left - parts[i])
    return parts


def interference(limits: Sequence[float], slowdown: float) -> float:
    """Return the factor by which tasks that want more than a whole machine slow each other down.

    ``1 / (1 + slowdown * max(0, sum(limits) - 1))``: 1 without contention, or with a slowdown of 0.
    """
    return 1.0 / (1.0 + slowdown * max(0.0, sum(limits) - 1.0))
