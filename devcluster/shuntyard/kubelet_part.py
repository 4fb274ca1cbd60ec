"""Plays the kubelet for the replicas: restarts containers that ended or fail their probe.

``python -m devcluster.shuntyard.kubelet_part --dir DIR``: a thread for each container. Probes,
periods and thresholds are those of the Deployment; both containers are probed by the extender's
``/livez``.

Source:
    Kubernetes documentation, "Pod Lifecycle": a container is restarted at once, then after 10 s,
    20 s, … up to five minutes; ten minutes without a problem reset the delay.
"""

import argparse
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from devcluster.credentials.bootstrap import deploy_manifests
from devcluster.errors import ClusterStateError
from devcluster.local.layout import Layout
from devcluster.local.supervision import Supervisor, answers
from devcluster.shuntyard.read_api_service import named
from devcluster.shuntyard.replicas import EXTENDER, SCHEDULER, running
from shared.clock import Clock
from shared.system_clock import SystemClock

ALIVE: Final = "alive"
"""Printed when the probe of a container succeeds for the first time."""
_CHECK_SECONDS: Final = 0.2
_STARTUP_PERIOD_SECONDS: Final = 1.0
_STARTUP_FAILURES: Final = 90
"""The startup probes of the Deployment, alike for both containers."""
_FIRST_BACKOFF_SECONDS: Final = 10.0
_MOST_BACKOFF_SECONDS: Final = 300.0
_WELL_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class Probe:
    """A liveness probe of the Deployment."""

    period_seconds: float
    timeout_seconds: float
    failures: int


def probes() -> dict[str, Probe]:
    """Return the liveness probe of each container of deploy/base/extender.yaml, by its name."""
    return {one["name"]: _probe(one["livenessProbe"]) for one in _containers()}


def _containers() -> list[Mapping[str, Any]]:
    manifests = deploy_manifests("base/extender.yaml")
    (deployment,) = (one for one in manifests if one["kind"] == "Deployment")
    return list(deployment["spec"]["template"]["spec"]["containers"])


def _probe(given: Mapping[str, Any]) -> Probe:
    return Probe(given["periodSeconds"], given["timeoutSeconds"], given["failureThreshold"])


@dataclass
class Container:
    """A supervised component.

    Attributes:
        livez: URL of its probe.
        end: Set to stop supervision.
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
    _probed_at: float = 0.0

    def __post_init__(self) -> None:
        self._restarted_at = self.clock.monotonic()

    def supervise(self) -> None:
        """Check it until the end."""
        while not self.end.wait(_CHECK_SECONDS):
            self.check()

    def check(self) -> None:
        """Check it once."""
        if self.supervisor.process(self.name) is None:
            self._start_again("it ended")
        elif self.clock.monotonic() - self._probed_at >= self._period_seconds():
            self._probe()

    def _period_seconds(self) -> float:
        return self.probe.period_seconds if self._started else _STARTUP_PERIOD_SECONDS

    def _probe(self) -> None:
        """Probe it once; until its first success more often, and with more failures allowed."""
        self._probed_at = self.clock.monotonic()
        if answers(self.livez, self.probe.timeout_seconds):
            if not self._started:
                self._report(ALIVE)
            self._started, self._failed = True, 0
            return
        self._failed += 1
        if self._failed >= (self.probe.failures if self._started else _STARTUP_FAILURES):
            self._report(f"the probe failed {self._failed} times")
            self.supervisor.stop(self.name)
            self._start_again("its probe failed")

    def _start_again(self, why: str) -> None:
        if (wait_seconds := self._backoff_seconds()) and self.end.wait(wait_seconds):
            return
        self._started, self._failed = False, 0
        self._restarted_at = self.clock.monotonic()
        self._restarts += 1
        try:
            self.supervisor.respawn(self.name)
            self._report(f"started again: {why}")
        except ClusterStateError as error:  # already restarted, or the cluster goes down
            self._report(str(error))

    def _backoff_seconds(self) -> float:
        if self.clock.monotonic() - self._restarted_at >= _WELL_SECONDS:
            self._restarts = 0
        if self._restarts == 0:
            return 0.0
        return float(min(_FIRST_BACKOFF_SECONDS * 2 ** (self._restarts - 1), _MOST_BACKOFF_SECONDS))

    def _report(self, text: str) -> None:
        print(f"{self.name}: {text}", flush=True)


def containers(directory: Path, end: threading.Event) -> list[Container]:
    """Return all containers of a cluster's replicas."""
    by_name, layout = probes(), Layout(directory)
    supervisor = Supervisor(layout, print)
    supervised = []
    for number in running(supervisor):
        ready = supervisor.file.component(named(EXTENDER, number)).probe
        assert ready is not None  # noqa: S101 - `extender_process.extender` gave it one
        livez = ready.url.replace("/readyz", "/livez")
        for program in (EXTENDER, SCHEDULER):
            name = named(program, number)
            supervised.append(
                Container(supervisor, name, livez, by_name[program], end, SystemClock())
            )
    return supervised


def main() -> None:
    """Supervise the replicas of the cluster until terminated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, required=True)
    end = threading.Event()
    threads = [
        threading.Thread(target=container.supervise, name=container.name)
        for container in containers(parser.parse_args().dir, end)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
