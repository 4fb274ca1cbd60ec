"""Starting, stopping and finding the components of a cluster through its state file."""

import functools
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import psutil

from devcluster import processes
from devcluster.errors import ClusterStateError
from devcluster.layout import Layout
from devcluster.processes import MARK
from devcluster.readiness import wait_until_ready
from devcluster.state import Component, StateFile

_LEFTOVER_SECONDS: Final = 5.0
_STORE: Final = frozenset({"etcd", "kube-apiserver", "kube-controller-manager", "kwok"})
"""Ended last; they have nothing to finish, because what they keep is thrown away."""
_STORE_SECONDS: Final = 1.0


class Supervisor:
    """The processes of one cluster directory, started by whichever program."""

    def __init__(self, layout: Layout, report: Callable[[str], None]) -> None:
        self.file = StateFile(layout.directory)
        self._layout = layout
        self._report = report

    @property
    def mark(self) -> str:
        """What the cluster's processes carry in their environment."""
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
        """Start a component again as it was started before, without a look at how it does.

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
        """End every component, what they started, and what an interrupted start left behind."""
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
    """Return our environment without what would lead a component away from this machine."""
    away = {"KUBECONFIG", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}
    return {key: value for key, value in os.environ.items() if key.upper() not in away}
