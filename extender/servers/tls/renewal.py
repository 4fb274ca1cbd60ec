"""Renew the certificates of listeners from their files, and report refused handshakes."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

from extender.metrics.extender import ExtenderMetrics
from extender.metrics.listeners import ListenerName, Renewing
from shared.clock import Clock
from shared.errors import SettingsError
from shared.health import Heartbeat
from shared.logs import LastingProblems

CHECK_SECONDS: Final = 10.0
"""Time between two checks; a certificate is renewed days before it ends."""
MOST_REASONS: Final = 10
"""Reasons of refused handshakes that are logged at a time."""

log = logging.getLogger(__name__)

_KEEPS: Final = "the listener %s keeps its old certificate: %s"


class Renewable(Protocol):
    """A certificate in use."""

    @property
    def begins_at(self) -> float:
        """Second since the epoch from which it is valid."""
        ...

    @property
    def ends_at(self) -> float:
        """Second since the epoch to which it is valid."""
        ...

    refused: Callable[[str], None]
    """Called with the reason why a handshake failed."""

    def renew(self) -> bool:
        """Use changed files; return True if there were any.

        Blocks; raises ``SettingsError`` where they cannot be used.
        """
        ...


@dataclass
class RenewalLoop:
    """Checks the files of all certificates in turn."""

    certificates: Mapping[ListenerName, Renewable]
    clock: Clock
    metrics: ExtenderMetrics
    heartbeat: Heartbeat
    _problems: dict[ListenerName, LastingProblems] = field(default_factory=dict)
    _refused: dict[ListenerName, Counter[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, certificate in self.certificates.items():
            self._refused[name] = Counter()
            self._problems[name] = LastingProblems(partial(log.error, _KEEPS, name.value))
            certificate.refused = partial(self._count, name)

    async def run(self) -> None:
        """Check every ``CHECK_SECONDS``; returns only by cancellation."""
        while True:
            self.heartbeat.beat()
            for name in self.certificates:
                await self.check(name)
            await asyncio.sleep(CHECK_SECONDS)

    async def check(self, name: ListenerName) -> None:
        """Renew a certificate if its files changed; files that cannot be used are logged once."""
        metrics, certificate = self.metrics.certificates, self.certificates[name]
        problems: list[str] = []
        try:
            if await asyncio.to_thread(certificate.renew):
                metrics.renewals.labels(listener=name.value, outcome=Renewing.RENEWED.value).inc()
                log.info("a listener has a new certificate", extra={"listener": name.value})
        except SettingsError as error:
            metrics.renewals.labels(listener=name.value, outcome=Renewing.REFUSED.value).inc()
            problems.append(str(error))
        self._problems[name].update(problems)
        self._report(name)
        now = self.clock.now()
        metrics.observe(name.value, certificate.begins_at, certificate.ends_at, now)

    def _count(self, name: ListenerName, why: str) -> None:
        self.metrics.certificates.refusals.labels(listener=name.value).inc()
        refused = self._refused[name]
        if why in refused or len(refused) < MOST_REASONS:
            refused[why] += 1

    def _report(self, name: ListenerName) -> None:
        """Log the refusals since the last check: there may be thousands a second."""
        for why, times in sorted(self._refused[name].items()):
            log.warning("the listener %s refused %d handshakes: %s", name.value, times, why)
        self._refused[name].clear()
