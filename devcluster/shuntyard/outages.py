"""Outages of a replica, for tests and measurements: killed, frozen, cut off."""

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
from devcluster.shuntyard.read_api_service import named
from devcluster.shuntyard.replicas import EXTENDER, SCHEDULER, WAY
from shared.readapi.answer import FORWARDED

_ANSWER_SECONDS: Final = 1.0
_EXIT_SECONDS: Final = 20.0
"""A kube-scheduler that lost the Lease ends within renewDeadline and a retry."""
_POLL_SECONDS: Final = 0.1
_START_TRIES: Final = 5


class Outage(enum.StrEnum):
    """Kinds of outage; both programs of a replica share it, as those of a pod do."""

    KILLED = "killed"
    """SIGKILL: the pod or its node is gone."""
    FROZEN = "frozen"
    """SIGSTOP: neither runs, and no connection is closed."""
    CUT = "cut off"
    """The connection to the API server is refused; open ones end at once."""
    SILENT = "silent"
    """The connection to the API server accepts data and answers nothing."""


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
        """Return True if it says that it is the leader; False without an answer within a second."""
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
        """Return a function that starts the outage without checks, and returns its monotonic time.

        Raises:
            ClusterStateError: One of its programs does not run.
        """
        number, programs = _SIGNALS[outage]
        pids = [self.cluster.pid(named(program, self.number)) for program in programs]

        def start() -> float:
            for pid in pids:
                os.kill(pid, number)
            return time.monotonic()

        return start

    def let_go(self) -> None:
        """Continue frozen programs and restore the connection; killed ones stay dead."""
        for program in (WAY, EXTENDER, SCHEDULER):
            name = named(program, self.number)
            if self.cluster.runs(name):
                self.cluster.kill(name, signal.SIGCONT)
            elif program == WAY and name in self.cluster.state().components:
                self.cluster.start(name)

    def heal(self, *, lost: bool) -> None:
        """End the outage and restart what has ended, as a kubelet does; return when all is ready.

        Args:
            lost: Another replica holds the Lease: kube-scheduler ends when it notices.
        """
        self.let_go()
        deadline = time.monotonic() + _EXIT_SECONDS
        while lost and self.cluster.runs(self.scheduler) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        self.start_ended()

    def start_ended(self) -> None:
        """Restart those of its two programs that have ended; return when they are ready."""
        for name in (self.extender, self.scheduler):
            if not self.cluster.runs(name):
                self._start(name)

    def _start(self, name: str) -> None:
        """Start a component, with retries: a killed process may hold its port for a moment."""
        for _ in range(_START_TRIES):
            with contextlib.suppress(ComponentError):
                self.cluster.start(name)
                return
            time.sleep(_POLL_SECONDS)
        self.cluster.start(name)


def acting(replicas: tuple[Replica, ...]) -> Replica | None:
    """Return the replica that is the leader; None if none is."""
    return next(_acting(replicas), None)


def until_acting(replicas: tuple[Replica, ...], within_seconds: float = 60.0) -> Replica:
    """Wait until one of the replicas is the leader, and return it.

    Raises:
        TimeoutError: None did in time.
    """
    deadline = time.monotonic() + within_seconds
    while time.monotonic() < deadline:
        if (leader := acting(replicas)) is not None:
            return leader
        time.sleep(_POLL_SECONDS)
    raise TimeoutError(f"no replica became the leader within {within_seconds:.0f} s")


def _acting(replicas: tuple[Replica, ...]) -> Iterator[Replica]:
    return (replica for replica in replicas if replica.acts())
