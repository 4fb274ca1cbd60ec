"""Plays the kubelet for the replicas: starts containers that ended, and those that are not alive.

``python -m devcluster.kubelet_part --dir DIR``: a thread for each container. Probes, periods and
thresholds are those of the Deployment; both containers are judged by the extender's ``/livez``.

Source:
    Kubernetes documentation, "Pod Lifecycle": a container is started again at once, then after
    10 s, 20 s, … up to five minutes; ten minutes without a problem make that start anew.
"""

import argparse
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from devcluster.bootstrap import deploy_manifests
from devcluster.errors import ClusterStateError
from devcluster.layout import Layout
from devcluster.read_api_service import named
from devcluster.readiness import answers
from devcluster.replicas import EXTENDER, SCHEDULER, running
from devcluster.supervision import Supervisor
from shared.clock import Clock
from shared.system_clock import SystemClock

ALIVE: Final = "alive"
"""What is said of a container when its probe succeeds for the first time."""
_LOOK_SECONDS: Final = 0.2
_STARTUP_PERIOD_SECONDS: Final = 1.0
_STARTUP_FAILURES: Final = 90
"""The startup probes of the Deployment, alike for both containers."""
_FIRST_BACKOFF_SECONDS: Final = 10.0
_MOST_BACKOFF_SECONDS: Final = 300.0
_WELL_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class Probe:
    """A liveness probe, as the Deployment says."""

    period_seconds: float
    timeout_seconds: float
    failures: int


def probes() -> dict[str, Probe]:
    """Return the liveness probe of each container of deploy/base/extender.yaml, by its name."""
    return {one["name"]: _probe(one["livenessProbe"]) for one in _containers()}


def _containers() -> list[Mapping[str, Any]]:
    manifests = deploy_manifests("base/extender.yaml")
    (found,) = (one for one in manifests if one["kind"] == "Deployment")
    return list(found["spec"]["template"]["spec"]["containers"])


def _probe(given: Mapping[str, Any]) -> Probe:
    return Probe(given["periodSeconds"], given["timeoutSeconds"], given["failureThreshold"])


@dataclass
class Container:
    """One component under care.

    Attributes:
        livez: URL that its probe asks.
        end: Set when the care ends.
    """

    supervisor: Supervisor
    name: str
    livez: str
    probe: Probe
    end: threading.Event
    clock: Clock
    _failed: int = 0
    _started: bool = False
    _restarts: int = 0
    _restarted_at: float = field(init=False)
    _asked_at: float = 0.0

    def __post_init__(self) -> None:
        self._restarted_at = self.clock.monotonic()

    def care(self) -> None:
        """Look at it until the end."""
        while not self.end.wait(_LOOK_SECONDS):
            self.look()

    def look(self) -> None:
        """Look at it once."""
        if self.supervisor.process(self.name) is None:
            self._start_again("it ended")
        elif self.clock.monotonic() - self._asked_at >= self._period_seconds():
            self._ask()

    def _period_seconds(self) -> float:
        return self.probe.period_seconds if self._started else _STARTUP_PERIOD_SECONDS

    def _ask(self) -> None:
        """Probe it once; until its first success it is asked more often, and has more time."""
        self._asked_at = self.clock.monotonic()
        if answers(self.livez, self.probe.timeout_seconds):
            if not self._started:
                self._say(ALIVE)
            self._started, self._failed = True, 0
            return
        self._failed += 1
        if self._failed >= (self.probe.failures if self._started else _STARTUP_FAILURES):
            self._say(f"the probe failed {self._failed} times")
            self.supervisor.stop(self.name)
            self._start_again("it was not alive")

    def _start_again(self, why: str) -> None:
        if (wait_seconds := self._backoff_seconds()) and self.end.wait(wait_seconds):
            return
        self._started, self._failed = False, 0
        self._restarted_at = self.clock.monotonic()
        self._restarts += 1
        try:
            self.supervisor.respawn(self.name)
            self._say(f"started again: {why}")
        except ClusterStateError as error:  # somebody else was quicker, or the cluster goes down
            self._say(str(error))

    def _backoff_seconds(self) -> float:
        if self.clock.monotonic() - self._restarted_at >= _WELL_SECONDS:
            self._restarts = 0
        if self._restarts == 0:
            return 0.0
        return float(min(_FIRST_BACKOFF_SECONDS * 2 ** (self._restarts - 1), _MOST_BACKOFF_SECONDS))

    def _say(self, text: str) -> None:
        print(f"{self.name}: {text}", flush=True)


def containers(directory: Path, end: threading.Event) -> list[Container]:
    """Return all containers of a cluster's replicas."""
    found, layout = probes(), Layout(directory)
    supervisor = Supervisor(layout, print)
    cared = []
    for number in running(supervisor):
        ready = supervisor.file.component(named(EXTENDER, number)).probe
        assert ready is not None  # noqa: S101 - `extender_process.extender` gave it one
        livez = ready.url.replace("/readyz", "/livez")
        for program in (EXTENDER, SCHEDULER):
            name = named(program, number)
            cared.append(Container(supervisor, name, livez, found[program], end, SystemClock()))
    return cared


def main() -> None:
    """Care for the replicas of the cluster until told to end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, required=True)
    end = threading.Event()
    threads = [
        threading.Thread(target=one.care, name=one.name)
        for one in containers(parser.parse_args().dir, end)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
