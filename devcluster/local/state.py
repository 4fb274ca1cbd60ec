"""``state.json``: the processes of a cluster. Only the file counts, no memory of a program."""

import contextlib
import fcntl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from devcluster.errors import ClusterStateError
from devcluster.local.ports import LOOPBACK
from devcluster.local.processes import Identity


@dataclass(frozen=True, slots=True)
class Probe:
    """A readiness check of a component: a GET that answers 200.

    Args:
        url: What to get.
        certificate: Client certificate file; None for none.
        key: Its key file.
    """

    url: str
    certificate: str | None = None
    key: str | None = None


@dataclass(slots=True)
class Component:
    """One process of the cluster: how it is started, and its current process.

    ``ready_seconds`` is for a busy machine: kube-apiserver needs eight seconds of CPU to start,
    which took two minutes beside fifty other processes. Waiting stops if it ends.
    """

    argv: tuple[str, ...]
    log: str
    probe: Probe | None = None
    environ: dict[str, str] = field(default_factory=dict)
    ready_seconds: float = 300.0
    stop_seconds: float = 10.0
    identity: Identity | None = None


@dataclass(slots=True)
class ClusterState:
    """A cluster; ``complete`` once ``up`` came to its end; components are in order of start.

    ``address`` is that of this machine's servers for nodes and their pods.
    """

    kubernetes: str
    server: str
    node_grace_seconds: int
    address: str = LOOPBACK
    complete: bool = False
    components: dict[str, Component] = field(default_factory=dict)


class StateFile:
    """``state.json`` of a cluster directory, read and changed by several processes."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / "state.json"

    def read(self) -> ClusterState:
        """Return the state as it is now.

        Raises:
            ClusterStateError: There is no cluster in the directory.
        """
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=ClusterState)
        except FileNotFoundError:
            raise ClusterStateError(f"there is no cluster in {self.directory}") from None

    def write(self, state: ClusterState) -> None:
        """Replace the file, at once or not at all."""
        partial = self.path.with_name("state.json.partial")
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(state)))
        partial.replace(self.path)

    @contextlib.contextmanager
    def change(self) -> Iterator[ClusterState]:
        """Yield the state for changing, alone; what was changed is written afterwards."""
        with alone(self.directory / "state.lock"):
            state = self.read()
            yield state
            self.write(state)

    def component(self, name: str) -> Component:
        """Return a component.

        Raises:
            ClusterStateError: The cluster has none of that name.
        """
        components = self.read().components
        if name not in components:
            known = ", ".join(components)
            raise ClusterStateError(f"{self.directory} has no component {name!r}; it has {known}")
        return components[name]


@contextlib.contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Hold a lock file; it is free again when its holder ends, however it ends."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
