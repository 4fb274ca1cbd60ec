"""Who takes part in `bench gang`: how each scheduler is started, stopped, and what it costs."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from bench.profiles import profile_of
from bench.shapes import Kind
from devcluster.cluster import Cluster

SETTINGS: Final[Mapping[str, object]] = {"queue": {"settle_seconds": 0.05}}
"""The extender's settings that differ from its defaults."""
_OURS: Final = ("extender", "kube-scheduler")
_SERVER: Final = ("kube-apiserver", "etcd")


@dataclass(frozen=True)
class Contestant:
    """One scheduler: the components that run while it is measured, and no other scheduler's."""

    kind: Kind
    components: tuple[str, ...]
    launch: Callable[[Cluster], None]

    @contextlib.contextmanager
    def running(self, cluster: Cluster, profile: Path | None = None) -> Iterator[None]:
        """Run it meanwhile; under cProfile where it is ours and ``profile`` names a file."""
        if self.components[0] in cluster.state().components:
            for name in self.components:
                cluster.start(name)
        else:
            self.launch(cluster)
        try:
            with profile_of(cluster, profile if "extender" in self.components else None):
                yield
        finally:
            for name in reversed(self.components):
                if cluster.runs(name):
                    cluster.stop(name)

    def cpu_seconds(self, cluster: Cluster) -> dict[str, float]:
        """Return the processor time so far of each process that takes part, by its part."""
        parts = {name: name for name in _SERVER} | {
            name: "extender" if name == "extender" else "scheduler" for name in self.components
        }
        found = {
            part: _cpu_seconds(cluster.pid(name))
            for name, part in parts.items()
            if cluster.runs(name)
        }
        return {**found, "bench": _cpu_seconds(None)}


def contestant(kind: Kind) -> Contestant:
    """Return the scheduler that pods of a kind are for."""
    if kind in {Kind.GATED, Kind.DIRECT}:
        return Contestant(kind, _OURS, lambda cluster: cluster.start_shuntyard(SETTINGS))
    peer = kind.peer
    if peer is None:
        return Contestant(kind, ("default-scheduler",), Cluster.start_default_scheduler)
    return Contestant(kind, (peer.value,), lambda cluster: cluster.start_peer(peer))


def _cpu_seconds(pid: int | None) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system
