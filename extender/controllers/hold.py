"""A held answer to filter: when one may be held, for how long, and what came of its Bindings."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.core.scheduler.burst import BurstBinding, BurstOutcome
from shared.clock import Clock
from shared.model import JobKey, Uid

APART_SECONDS: Final = 600.0

DRAIN_SECONDS: Final = 1.0
"""Bindings that are on their way when the hold ends have so long before the answer is given."""

NEXT_CALL_SECONDS: Final = 0.05
"""From an answer to the first Bindings of the next call, if kube-scheduler has more pods."""

LULL_SECONDS: Final = 0.15
"""A gang that has grown during a hold may have no further member for so long."""


@dataclass
class HoldPermit:
    """Whether answers to filter may be held while other pods are bound (``controllers.bursts``).

    Pods of another scheduler in the same kube-scheduler would wait for our Bindings, so for
    ``APART_SECONDS`` after one of them nothing is held.

    Attributes:
        clock: For the pause.
        hold_seconds: How long Bindings are posted; 0: no answer is held.
        gated: Gated gangs may be released for that.
    """

    clock: Clock
    hold_seconds: float
    gated: bool
    _apart_until: float = field(init=False, default=0.0)
    _given: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._given.set()

    def keep_apart(self) -> None:
        """Hold nothing for a while: kube-scheduler serves another scheduler's pods too."""
        self._apart_until = self.clock.monotonic() + APART_SECONDS

    def valid(self) -> bool:
        """Return True if an answer may be held now."""
        return self.hold_seconds > 0 and self.clock.monotonic() >= self._apart_until

    def begin(self) -> None:
        """An answer is held from now on."""
        self._given.clear()

    def end(self) -> None:
        """No answer is held."""
        self._given.set()

    async def answered(self) -> None:
        """Return when no answer is held, or none can be held any longer.

        After a wait the answer leaves first, and the next call has its turn: a pass would keep both
        for as long as it takes.
        """
        if self._given.is_set():
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.hold_seconds + DRAIN_SECONDS):
                await self._given.wait()
        await asyncio.sleep(NEXT_CALL_SECONDS)


@dataclass
class Growth:
    """The members of a gang that is still being created, at the last look.

    Attributes:
        count: How many there were.
        at: When there was one more; monotonic seconds.
        patience_seconds: How long none may come.
    """

    count: int
    at: float
    patience_seconds: float = 0.0

    def goes_on(self, count: int, now: float) -> bool:
        """Take a look over; return True if it may be worth another one.

        At the first look a member must have come. After that the API server may be busy for a
        while, but a gang that nothing creates any more must not hold each of its members up.
        """
        if count > self.count:
            self.count, self.at, self.patience_seconds = count, now, LULL_SECONDS
            return True
        return now - self.at < self.patience_seconds


@dataclass
class Hold:
    """One held answer.

    Attributes:
        until: When the last Binding is begun; monotonic seconds.
        pending: Pods that were handed out and whose Binding has not ended.
        bound: Pods that were bound.
        jobs: Gangs of which some were.
        gated: Pods whose gate is removed before their Binding.
        failed: A Binding was refused or not begun, or the time was over before the last decision.
        slowest_seconds: How long the writes to one pod took at most.
    """

    until: float
    pending: int = 0
    bound: list[Uid] = field(default_factory=list)
    jobs: set[JobKey] = field(default_factory=set)
    gated: set[Uid] = field(default_factory=set)
    failed: bool = False
    slowest_seconds: float = 0.0
    _returned: list[Uid] = field(default_factory=list)
    _progress: asyncio.Event = field(default_factory=asyncio.Event)

    def may_begin(self, now: float) -> bool:
        """Return True if there is time for one more pod: its writes end before the answer."""
        return now < self.until and now + self.slowest_seconds < self.until + DRAIN_SECONDS / 2

    def took(self, seconds: float) -> None:
        """Take over how long the writes to one pod took."""
        self.slowest_seconds = max(self.slowest_seconds, seconds)

    def ended(self, uid: Uid, *, bound: bool) -> None:
        """Take over how one Binding ended."""
        self.pending -= 1
        if bound:
            self.bound.append(uid)
        self.failed = self.failed or not bound
        self._progress.set()

    def end(self, unposted: Sequence[BurstBinding]) -> None:
        """Give back pods whose Binding was not begun."""
        self.pending -= len(unposted)
        self.failed = self.failed or bool(unposted)
        self._returned += [wanted.uid for wanted in unposted]
        self._progress.set()

    def leave(self, outcome: BurstOutcome) -> None:
        """Give back what was decided and is not begun."""
        left = outcome.handed_out
        self.pending += len(left)
        self.end(left)

    def take_back(self) -> tuple[Uid, ...]:
        """Return the pods that were given back since the last call."""
        returned, self._returned = tuple(self._returned), []
        return returned

    async def below(self, most: int) -> None:
        """Return when fewer Bindings are pending."""
        while self.pending >= most:
            self._progress.clear()
            await self._progress.wait()
