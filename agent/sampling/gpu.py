"""GPUs by NVIDIA's management library, where it and a driver are there; else nothing, silently.

Written against NVML's documented interface as ``nvidia-ml-py`` (module ``pynvml``) has it, and
tested with a stand-in for that module: it has not been run on a GPU.

NVML names processes as the host's PID namespace does. So a pod's share is known only where the
agent sees the host's processes (``hostPID: true``); elsewhere only the node's figures are given.

Source:
    NVML API Reference Guide: ``nvmlDeviceGetUtilizationRates``, ``nvmlDeviceGetMemoryInfo``,
    ``nvmlDeviceGetComputeRunningProcesses``.
"""

import importlib
import logging
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final

from msgspec import Struct

MODULE: Final = "pynvml"
FRESH_SECONDS: Final = 0.5
"""A reading younger than this is given again: the node and its pods ask one after the other."""

_MOST_GPUS: Final = 64

logger = logging.getLogger(__name__)


class Gpu(Struct, frozen=True):
    """One device.

    Attributes:
        ratio: Part of the last moments in which something ran on it, 0 to 1; None if the device
            does not say (MIG).
        memory_bytes: In use.
        processes: Process on the host -> bytes it holds there; None if the device does not say.
    """

    ratio: float | None
    memory_bytes: int | None
    processes: Mapping[int, int | None]


def mean_ratio(gpus: Sequence[Gpu]) -> float | None:
    """Return the mean utilisation of those that say theirs, 0 to 1; None if none does."""
    known = [gpu.ratio for gpu in gpus if gpu.ratio is not None]
    return sum(known) / len(known) if known else None


class GpuReader:
    """The devices of this node.

    Args:
        nvml: The module ``pynvml``, initialised.
        handles: The devices.
    """

    def __init__(self, nvml: ModuleType, handles: Sequence[Any]) -> None:
        self._nvml = nvml
        self._handles = tuple(handles)
        self._read_at = float("-inf")
        self._gpus: tuple[Gpu, ...] = ()

    @property
    def words(self) -> str:
        """What it reads, for the log."""
        return f"{len(self._handles)} GPUs by NVML"

    def read(self, now: float) -> tuple[Gpu, ...]:
        """Return all devices; ``now`` in seconds of the monotonic clock."""
        if now - self._read_at >= FRESH_SECONDS:
            self._gpus = tuple(self._gpu(handle) for handle in self._handles)
            self._read_at = now
        return self._gpus

    def close(self) -> None:
        """Let go of the library."""
        self._ask(self._nvml.nvmlShutdown)

    def _gpu(self, handle: Any) -> Gpu:
        nvml = self._nvml
        rates = self._ask(nvml.nvmlDeviceGetUtilizationRates, handle)
        memory = self._ask(nvml.nvmlDeviceGetMemoryInfo, handle)
        processes = self._ask(nvml.nvmlDeviceGetComputeRunningProcesses, handle) or ()
        return Gpu(
            ratio=None if rates is None else min(1.0, rates.gpu / 100),
            memory_bytes=None if memory is None else memory.used,
            processes={one.pid: one.usedGpuMemory for one in processes},
        )

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the answer; None where the device or driver cannot give one."""
        try:
            return function(*arguments)
        except self._nvml.NVMLError as error:
            logger.debug("%s: %s", function.__name__, error)
            return None


def open_gpu() -> GpuReader | None:
    """Return a reader of this node's GPUs; None without the library, a driver or a device."""
    try:
        nvml = importlib.import_module(MODULE)
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
        count = min(nvml.nvmlDeviceGetCount(), _MOST_GPUS)
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
    except nvml.NVMLError as error:
        logger.debug("no GPU: %s", error)
        return None
    return GpuReader(nvml, handles) if handles else None
