"""Starts, stops and finds the components of a cluster through its state file, and awaits them."""

import functools
import http.client
import os
import signal
import ssl
import time
import urllib.parse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import psutil

from devcluster.errors import ClusterStateError, ComponentError
from devcluster.local import processes
from devcluster.local.layout import Layout
from devcluster.local.processes import MARK
from devcluster.local.state import Component, Probe, StateFile

_POLL_SECONDS: Final = 0.05
_ANSWER_SECONDS: Final = 5.0


def wait_until_ready(
    name: str, component: Component, authority: Path, alive: Callable[[], bool]
) -> float:
    """Wait until the component's probe succeeds; returns the seconds that took.

    Raises:
        ComponentError: It ended, or was not ready within its ``ready_seconds``.
    """
    begun = time.monotonic()
    log = Path(component.log)
    while component.probe is not None and not succeeds(component.probe, authority):
        if not alive():
            raise ComponentError(name, "ended before it was ready", log)
        if time.monotonic() - begun > component.ready_seconds:
            raise ComponentError(name, f"was not ready in {component.ready_seconds:.0f} s", log)
        time.sleep(_POLL_SECONDS)
    return time.monotonic() - begun


def succeeds(probe: Probe, authority: Path) -> bool:
    """Return whether the probe's GET answers 200; servers are verified against the CA."""
    parts = urllib.parse.urlsplit(probe.url)
    return _answers_ok(_connection(parts, probe, authority), parts.path)


def _connection(
    parts: urllib.parse.SplitResult, probe: Probe, authority: Path
) -> http.client.HTTPConnection:
    address = parts.hostname or "", parts.port
    if parts.scheme == "http":
        return http.client.HTTPConnection(*address, timeout=_ANSWER_SECONDS)
    context = ssl.create_default_context(cafile=str(authority))
    if probe.certificate is not None:
        context.load_cert_chain(probe.certificate, probe.key)
    return http.client.HTTPSConnection(*address, timeout=_ANSWER_SECONDS, context=context)


def answers(url: str, timeout_seconds: float) -> bool:
    """Return whether a GET over http answers 200 in time, like a kubelet's probe."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(
        parts.hostname or "", parts.port, timeout=timeout_seconds
    )
    return _answers_ok(connection, parts.path)


def _answers_ok(connection: http.client.HTTPConnection, path: str) -> bool:
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


_LEFTOVER_SECONDS: Final = 5.0
_STORE: Final = frozenset({"etcd", "kube-apiserver", "kube-controller-manager", "kwok"})
"""Ended last, and quickly, because their data is discarded."""
_STORE_SECONDS: Final = 1.0


class Supervisor:
    """The processes of one cluster directory, whichever program started them."""

    def __init__(self, layout: Layout, report: Callable[[str], None]) -> None:
        self.file = StateFile(layout.directory)
        self._layout = layout
        self._report = report

    @property
    def mark(self) -> str:
        """The mark in the environment of the cluster's processes."""
        return str(self._layout.directory)

    def launch(self, components: Mapping[str, Component]) -> None:
        """Add components, start them all, and wait until all are ready.

        Raises:
            ClusterStateError: One of them runs already.
            ComponentError: One of them ended or did not become ready; the others run on.
        """
        for name, component in components.items():
            if self.process(name) is not None:
                raise ClusterStateError(f"{name} already runs")
            with self.file.change() as state:
                state.components[name] = component
            self._spawn(name)
        self._wait(components)

    def start(self, *names: str) -> None:
        """Start components again as they were started before, and wait until they are ready.

        Raises:
            ClusterStateError: The cluster has no such component, or it runs.
            ComponentError: One ended or did not become ready.
        """
        for name in names:
            if self.process(name) is not None:
                raise ClusterStateError(f"{name} already runs")
            self._spawn(name)
        self._wait({name: self.file.component(name) for name in names})

    def respawn(self, name: str) -> None:
        """Start a component again as it was started before, without waiting until it is ready.

        Raises:
            ClusterStateError: The cluster has no such component, or it runs.
        """
        if self.process(name) is not None:
            raise ClusterStateError(f"{name} already runs")
        self._spawn(name)

    def stop(self, *names: str) -> None:
        """End components: SIGTERM, and SIGKILL after their ``stop_seconds``; dead ones are fine."""
        running = {name: self.process(name) for name in names}
        found = [process for process in running.values() if process is not None]
        patience = max((self.file.component(name).stop_seconds for name in names), default=0.0)
        processes.end(found, patience)

    def forget(self, *names: str) -> None:
        """Drop components that have ended; they cannot be started again as they were."""
        with self.file.change() as state:
            for name in names:
                del state.components[name]

    def kill(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a component and its group; for SIGKILL, wait until it is gone.

        Raises:
            ClusterStateError: It does not run.
        """
        process = self.require(name)
        processes.send(process, number)
        if number == signal.SIGKILL:
            processes.wait([process], _LEFTOVER_SECONDS)

    def process(self, name: str) -> psutil.Process | None:
        """Return a component's process, None if it does not run or was never started."""
        component = self.file.read().components.get(name)
        if component is None or component.identity is None:
            return None
        return processes.find(component.identity, self.mark)

    def require(self, name: str) -> psutil.Process:
        """Return a component's process.

        Raises:
            ClusterStateError: The cluster has no such component, or it does not run.
        """
        self.file.component(name)
        process = self.process(name)
        if process is None:
            raise ClusterStateError(f"{name} does not run")
        return process

    def dead(self) -> tuple[str, ...]:
        """Return the components that do not run, in order of start."""
        return tuple(name for name in self.file.read().components if self.process(name) is None)

    def end_all(self) -> None:
        """End every component, its children, and leftovers of an interrupted start."""
        names = tuple(self.file.read().components) if self.file.path.exists() else ()
        self.stop(*(name for name in names if name not in _STORE))
        store = (self.process(name) for name in names if name in _STORE)
        processes.end([process for process in store if process is not None], _STORE_SECONDS)
        processes.end(list(processes.leftovers(self.mark)), _LEFTOVER_SECONDS)

    def _runs(self, name: str) -> bool:
        return self.process(name) is not None

    def _spawn(self, name: str) -> None:
        with self.file.change() as state:
            if name not in state.components:
                raise ClusterStateError(f"{self._layout.directory} has no component {name!r}")
            component = state.components[name]
            environ = _environment() | component.environ | {MARK: self.mark}
            component.identity = processes.spawn(component.argv, environ, Path(component.log))

    def _wait(self, components: Mapping[str, Component]) -> None:
        for name, component in components.items():
            seconds = wait_until_ready(
                name, component, self._layout.authority, functools.partial(self._runs, name)
            )
            self._report(f"{name} is ready ({seconds:.1f} s)")


def _environment() -> dict[str, str]:
    """Return our environment without variables that would lead a component to other machines."""
    away = {"KUBECONFIG", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}
    return {key: value for key, value in os.environ.items() if key.upper() not in away}
