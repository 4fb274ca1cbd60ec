"""What can happen to a replica at a moment, for tests and measurements: dead, frozen, cut off."""

import contextlib
import enum
import http.client
import json
import os
import signal
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from devcluster.cluster import Cluster
from devcluster.errors import ComponentError
from devcluster.read_api_service import named
from devcluster.replicas import EXTENDER, SCHEDULER, WAY
from shared.answer import FORWARDED

_ANSWER_SECONDS: Final = 1.0
_EXIT_SECONDS: Final = 20.0
"""A kube-scheduler that lost the Lease has ended by then: renewDeadline and a try."""
_POLL_SECONDS: Final = 0.1
_START_TRIES: Final = 5


class Outage(enum.StrEnum):
    """What happens; both programs of a replica share it, as those of a pod do."""

    KILLED = "killed"
    """SIGKILL: the pod or its node is gone."""
    FROZEN = "frozen"
    """SIGSTOP: neither runs, nor does anybody notice by a closed connection."""
    CUT = "cut off"
    """The way to the API server is closed; connections end at once."""
    SILENT = "silent"
    """The way to the API server takes everything and brings nothing."""


_SIGNALS: Final = {
    Outage.KILLED: (signal.SIGKILL, (EXTENDER, SCHEDULER)),
    Outage.FROZEN: (signal.SIGSTOP, (EXTENDER, SCHEDULER)),
    Outage.CUT: (signal.SIGKILL, (WAY,)),
    Outage.SILENT: (signal.SIGSTOP, (WAY,)),
}


@dataclass(frozen=True)
class Replica:
    """One of several replicas, by its number; synchronous, like ``Cluster``."""

    cluster: Cluster
    number: int

    @property
    def extender(self) -> str:
        """Name of its extender among the components."""
        return named(EXTENDER, self.number)

    @property
    def scheduler(self) -> str:
        """Name of its kube-scheduler among the components."""
        return named(SCHEDULER, self.number)

    def acts(self) -> bool:
        """Ask it whether it acts; one that does not answer in a second does not, for us."""
        parts = urllib.parse.urlsplit(self.cluster.url_of(self.extender))
        where = parts.hostname or "", parts.port
        connection = http.client.HTTPConnection(*where, timeout=_ANSWER_SECONDS)
        try:
            connection.request("GET", "/v1/queue", headers={FORWARDED: "true"})
            return bool(json.loads(connection.getresponse().read())["acting"])
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            return False
        finally:
            connection.close()

    def prepared(self, outage: Outage) -> Callable[[], float]:
        """Return what makes it happen without a look at anything, and returns the second it did.

        Raises:
            ClusterStateError: What is to be struck does not run.
        """
        number, programs = _SIGNALS[outage]
        pids = [self.cluster.pid(named(program, self.number)) for program in programs]

        def strike() -> float:
            for pid in pids:
                os.kill(pid, number)
            return time.monotonic()

        return strike

    def let_go(self) -> None:
        """End the outage as far as it ends by itself: thaw, and open the way."""
        for program in (WAY, EXTENDER, SCHEDULER):
            name = named(program, self.number)
            if self.cluster.runs(name):
                self.cluster.kill(name, signal.SIGCONT)
            elif program == WAY and name in self.cluster.state().components:
                self.cluster.start(name)

    def heal(self, *, lost: bool) -> None:
        """Let go, and start again what has ended, as a kubelet does; returns when all is ready.

        Args:
            lost: Another replica holds the Lease: kube-scheduler ends when it notices.
        """
        self.let_go()
        deadline = time.monotonic() + _EXIT_SECONDS
        while lost and self.cluster.runs(self.scheduler) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        self.start_ended()

    def start_ended(self) -> None:
        """Start again what has ended of its two programs; returns when they are ready."""
        for name in (self.extender, self.scheduler):
            if not self.cluster.runs(name):
                self._start(name)

    def _start(self, name: str) -> None:
        """A killed process may hold its port for a moment after it has gone."""
        for _ in range(_START_TRIES):
            with contextlib.suppress(ComponentError):
                self.cluster.start(name)
                return
            time.sleep(_POLL_SECONDS)
        self.cluster.start(name)


def acting(replicas: tuple[Replica, ...]) -> Replica | None:
    """Return the replica that says it acts; None if none does."""
    return next(_acting(replicas), None)


def until_acting(replicas: tuple[Replica, ...], within_seconds: float = 60.0) -> Replica:
    """Wait until one of the replicas acts, and return it.

    Raises:
        TimeoutError: None did in time.
    """
    deadline = time.monotonic() + within_seconds
    while time.monotonic() < deadline:
        if (found := acting(replicas)) is not None:
            return found
        time.sleep(_POLL_SECONDS)
    raise TimeoutError(f"no replica acted within {within_seconds:.0f} s")


def _acting(replicas: tuple[Replica, ...]) -> Iterator[Replica]:
    return (one for one in replicas if one.acts())
