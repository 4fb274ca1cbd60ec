"""Samples the use of the whole node."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

import psutil

from agent.sampling import kernel_files
from agent.sampling.gpu import GpuSource, mean_ratio
from agent.sampling.readings import cores
from shared.progress import Use

DEFAULT_PROCFS: Final = Path("/proc")
_IDLE: Final = ("idle", "iowait", "steal", "guest", "guest_nice")
"""Not work of the node, or counted twice by the kernel (guests are in ``user``)."""


class NodeSampler:
    """Samples the node.

    With ``cores_override`` the node is only a part of this machine: its use is then the sum over
    its pods, not that of the machine.

    Args:
        gpus: Its GPUs; None if none can be read.
        procfs: Where the host's ``/proc`` is. psutil has one such path for the whole process.
        cores_override: Cores of a node with a CPU budget; None for a whole machine.
    """

    def __init__(
        self,
        gpus: GpuSource | None = None,
        *,
        procfs: Path = DEFAULT_PROCFS,
        cores_override: float | None = None,
    ) -> None:
        psutil.PROCFS_PATH = str(procfs)
        self._gpus = gpus
        self._procfs = procfs
        self._cores_override = cores_override
        self._busy_seconds: float | None = None
        self._at = 0.0

    @property
    def cores(self) -> float:
        """Cores of the node."""
        return self._cores_override or float(psutil.cpu_count() or 1)

    def sample(self, now: float, pods: Collection[Use] = ()) -> tuple[Use, float]:
        """Return the use of the node, and its cores; CPU is the mean since the previous sample.

        Args:
            now: Seconds of the monotonic clock.
            pods: Use of its pods; only read where the node is a part of the machine.
        """
        use = self._machine(now) if self._cores_override is None else _sum(pods)
        return use, self.cores

    def _machine(self, now: float) -> Use:
        before, seconds = self._busy_seconds, now - self._at
        self._busy_seconds, self._at = _busy_seconds(), now
        memory = psutil.virtual_memory()
        gpus = self._gpus.read(now) if self._gpus else ()
        held = [gpu.memory_bytes for gpu in gpus if gpu.memory_bytes is not None]
        return Use(
            cpu_cores=cores(before, self._busy_seconds, seconds),
            memory_bytes=memory.total - memory.available,
            cpu_pressure_ratio=self._pressure_ratio(),
            gpu_ratio=mean_ratio(gpus),
            gpu_memory_bytes=sum(held) if held else None,
        )

    def _pressure_ratio(self) -> float | None:
        try:
            return kernel_files.pressure_ratio((self._procfs / "pressure/cpu").read_bytes())
        except OSError:
            return None


def _busy_seconds() -> float:
    times: dict[str, float] = psutil.cpu_times()._asdict()
    return sum(seconds for kind, seconds in times.items() if kind not in _IDLE)


def _sum(pods: Collection[Use]) -> Use:
    rates = [pod.cpu_cores for pod in pods if pod.cpu_cores is not None]
    sizes = [pod.memory_bytes for pod in pods if pod.memory_bytes is not None]
    return Use(cpu_cores=sum(rates) if rates else None, memory_bytes=sum(sizes) if sizes else None)
