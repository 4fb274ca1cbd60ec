"""The schedulers of `bench gang`: starting, stopping and CPU time of each."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from bench.gang import gate_policy
from bench.gang.bursts import Counted, counted
from bench.gang.shapes import Kind
from bench.profiles import profile_of
from devcluster.cluster import Cluster

SETTINGS: Final[Mapping[str, object]] = {
    "queue": {"settle_seconds": 0.05},
    **gate_policy.SETTINGS,
}
"""The extender's settings that differ from its defaults."""
OURS: Final = frozenset({Kind.GATED, Kind.DIRECT, Kind.POLICY})
_RESIDENT: Final = ("VmRSS:", "VmHWM:")
_OURS: Final = ("extender", "kube-scheduler")
_SERVER: Final = ("kube-apiserver", "etcd")


@dataclass(frozen=True)
class Contestant:
    """One scheduler: the components that run while it is measured; all others are stopped."""

    kind: Kind
    components: tuple[str, ...]
    launch: Callable[[Cluster], None]

    @contextlib.contextmanager
    def running(self, cluster: Cluster, profile: Path | None = None) -> Iterator[None]:
        """Run the scheduler meanwhile; ours under cProfile if ``profile`` names a file."""
        policy = self.kind is Kind.POLICY
        with gate_policy.installed(cluster) if policy else contextlib.nullcontext():
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

    def groups(self, kubernetes: str) -> str:
        """Return the URL path of its PodGroups; empty: it needs none.

        Raises:
            InputError: This version of Kubernetes has no gangs of its own, or no PodGroups.
        """
        peer = self.kind.peer
        return "" if peer is None else peer.groups(kubernetes)

    def bursts(self, cluster: Cluster) -> Counted | None:
        """Return what was bound in bursts so far; None for another project's scheduler."""
        return counted(cluster) if "extender" in self.components else None

    def extender_mib(self, cluster: Cluster) -> tuple[float, float] | None:
        """Return MiB of resident memory of the extender: now, and the most since it was started.

        None for another project's scheduler.
        """
        if "extender" not in self.components:
            return None
        status = Path(f"/proc/{cluster.pid('extender')}/status").read_text()
        lines = (line.split() for line in status.splitlines())
        kib = {words[0]: int(words[1]) for words in lines if words[0] in _RESIDENT}
        now, most = (round(kib[name] / 2**10, 1) for name in _RESIDENT)
        return now, most

    def cpu_seconds(self, cluster: Cluster) -> dict[str, float]:
        """Return the CPU seconds so far of each process, by its role."""
        parts = {name: name for name in _SERVER} | {
            name: "extender" if name == "extender" else "scheduler" for name in self.components
        }
        seconds = {
            part: _cpu_seconds(cluster.pid(name))
            for name, part in parts.items()
            if cluster.runs(name)
        }
        return {**seconds, "bench": _cpu_seconds(None)}


def contestant(kind: Kind) -> Contestant:
    """Return the scheduler of a kind of pods."""
    if kind in OURS:
        return Contestant(kind, _OURS, lambda cluster: cluster.start_shuntyard(SETTINGS))
    peer = kind.peer
    if peer is None:
        return Contestant(kind, ("default-scheduler",), Cluster.start_default_scheduler)
    return Contestant(kind, (peer.value,), lambda cluster: cluster.start_peer(peer))


def _cpu_seconds(pid: int | None) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system
