"""GPUs by NVIDIA's management library, if it and a driver are installed.

Written against NVML's documented interface as ``nvidia-ml-py`` (module ``pynvml``) has it. Tested
with a fake of that module, and beside ``nvidia-smi`` where there is a GPU (``tests/gpu``).

NVML identifies processes by the host's PID namespace. So a pod's share is known only where the
agent sees the host's processes (``hostPID: true``); elsewhere only the node's use is reported.

Source:
    NVML API Reference Guide: ``nvmlDeviceGetUtilizationRates``, ``nvmlDeviceGetMemoryInfo_v2``
    (``used`` of the first version is the sum of allocated and reserved memory),
    ``nvmlDeviceGetComputeRunningProcesses``.
"""

import importlib
import logging
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final

from msgspec import Struct

from agent.errors import NoGpuError

MODULE: Final = "pynvml"
LIBRARY: Final = "libnvidia-ml.so.1"
"""Part of the driver; the module loads it, and takes 6 MiB before it finds that there is none."""
FRESH_SECONDS: Final = 0.5
"""A younger reading is reused: node and pods are sampled one after the other."""

_MOST_GPUS: Final = 64

logger = logging.getLogger(__name__)


class Gpu(Struct, frozen=True):
    """One device.

    Attributes:
        ratio: Utilisation, 0 to 1; None if the device does not report it (MIG).
        memory_bytes: Memory that programs have allocated, as ``nvidia-smi`` shows it; with what the
            driver reserves for itself only where the driver cannot tell the two apart.
        processes: Memory by process on the host; None if the device does not report it.
    """

    ratio: float | None
    memory_bytes: int | None
    processes: Mapping[int, int | None]


def mean_ratio(gpus: Sequence[Gpu]) -> float | None:
    """Return the mean of the reported utilisations, 0 to 1; None if there are none."""
    ratios = [gpu.ratio for gpu in gpus if gpu.ratio is not None]
    return sum(ratios) / len(ratios) if ratios else None


class GpuReader:
    """Reads the devices of this node.

    Args:
        nvml: The module ``pynvml``, initialised.
        handles: Handles of the devices.
    """

    def __init__(self, nvml: ModuleType, handles: Sequence[Any]) -> None:
        self._nvml = nvml
        self._handles = tuple(handles)
        self._read_at = float("-inf")
        self._gpus: tuple[Gpu, ...] = ()

    @property
    def description(self) -> str:
        """Description of the devices, for the log."""
        count = len(self._handles)
        return f"{count} GPU{'' if count == 1 else 's'} by NVML"

    def read(self, now: float) -> tuple[Gpu, ...]:
        """Return all devices; ``now`` in seconds of the monotonic clock."""
        if now - self._read_at >= FRESH_SECONDS:
            self._gpus = tuple(self._gpu(handle) for handle in self._handles)
            self._read_at = now
        return self._gpus

    def close(self) -> None:
        """Shut the library down."""
        self._query(self._nvml.nvmlShutdown)

    def _gpu(self, handle: Any) -> Gpu:
        nvml = self._nvml
        rates = self._query(nvml.nvmlDeviceGetUtilizationRates, handle)
        memory = self._query(nvml.nvmlDeviceGetMemoryInfo, handle, nvml.nvmlMemory_v2)
        if memory is None:
            memory = self._query(nvml.nvmlDeviceGetMemoryInfo, handle)
        processes = self._query(nvml.nvmlDeviceGetComputeRunningProcesses, handle) or ()
        return Gpu(
            ratio=None if rates is None else min(1.0, rates.gpu / 100),
            memory_bytes=None if memory is None else memory.used,
            processes={process.pid: process.usedGpuMemory for process in processes},
        )

    def _query(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of an NVML function; None if the device or driver has none."""
        try:
            return function(*arguments)
        except self._nvml.NVMLError as error:
            logger.debug("%s: %s", function.__name__, error)
            return None


def open_gpu() -> GpuReader:
    """Return a reader of this node's GPUs.

    Raises:
        NoGpuError: There is no library, no driver or no device.
    """
    _require(LIBRARY)
    try:
        nvml = importlib.import_module(MODULE)
    except ImportError as error:
        raise NoGpuError("the Python package nvidia-ml-py is not installed") from error
    try:
        nvml.nvmlInit()
        count = min(nvml.nvmlDeviceGetCount(), _MOST_GPUS)
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
    except nvml.NVMLError as error:
        raise NoGpuError(f"NVML: {error}") from error
    if not handles:
        raise NoGpuError("NVML: the driver has no device")
    return GpuReader(nvml, handles)


def _require(library: str) -> None:
    import ctypes  # noqa: PLC0415 - not before an agent runs

    try:
        ctypes.CDLL(library)
    except OSError as error:
        raise NoGpuError(str(error)) from error
