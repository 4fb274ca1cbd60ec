"""Reads GPUs by NVIDIA's management library, as long as its driver is there.

Written against NVML's documented interface as ``nvidia-ml-py`` (module ``pynvml``) has it. Tested
with a fake of that module, and beside ``nvidia-smi`` where there is a GPU (``tests/gpu``).

NVML identifies processes by the host's PID namespace. So a pod's share is known only where the
agent sees the host's processes (``hostPID: true``); elsewhere only the node's use is reported.

Source:
    NVML API Reference Guide: ``nvmlDeviceGetUtilizationRates``, ``nvmlDeviceGetMemoryInfo_v2``
    (``used`` of the first version is the sum of allocated and reserved memory),
    ``nvmlDeviceGetComputeRunningProcesses``; ``nvmlReturn_t`` for what ends a reading;
    ``nvmlDeviceGetTotalEccErrors``, ``nvmlDeviceGetRemappedRows`` and, before Ampere,
    ``nvmlDeviceGetRetiredPagesPendingStatus`` for faults of memory.
"""

import importlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Final, Protocol

from msgspec import Struct

from agent.errors import NoGpuError

MODULE: Final = "pynvml"
LIBRARY: Final = "libnvidia-ml.so.1"
"""Part of the driver; the module loads it, and takes 6 MiB before it finds that there is none."""
FRESH_SECONDS: Final = 0.5
"""A younger reading is reused: node and pods are sampled one after the other."""

_MOST_GPUS: Final = 64
_NO_DRIVER: Final = (
    "NVML_ERROR_UNINITIALIZED",
    "NVML_ERROR_DRIVER_NOT_LOADED",
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH",
)
"""Errors after which no device can be read: the driver was unloaded, or replaced."""
_NO_DEVICE: Final = ("NVML_ERROR_GPU_IS_LOST", "NVML_ERROR_RESET_REQUIRED")
"""Errors after which this device cannot be read; the others can."""

logger = logging.getLogger(__name__)


class Gpu(Struct, frozen=True):
    """One device.

    Attributes:
        ratio: Utilisation, 0 to 1; None if the device does not report it (MIG).
        memory_bytes: Memory that programs have allocated, as ``nvidia-smi`` shows it; with what the
            driver reserves for itself only where the driver cannot tell the two apart.
        processes: Memory by process on the host; None if the device does not report it.
        uncorrected_errors: ECC errors that were not corrected, since the driver was loaded; None if
            the device counts none.
        pending_remap: Bad memory is replaced at the next reset.
        failed_remap: Bad memory could not be replaced.
    """

    ratio: float | None
    memory_bytes: int | None
    processes: Mapping[int, int | None]
    uncorrected_errors: int | None = None
    pending_remap: bool = False
    failed_remap: bool = False


class GpuSource(Protocol):
    """Something that reads the GPUs of this node."""

    def read(self, now: float) -> tuple[Gpu, ...]:
        """Return the devices that can be read; ``now`` in seconds of the monotonic clock."""
        ...


def mean_ratio(gpus: Sequence[Gpu]) -> float | None:
    """Return the mean of the reported utilisations, 0 to 1; None if there are none."""
    ratios = [gpu.ratio for gpu in gpus if gpu.ratio is not None]
    return sum(ratios) / len(ratios) if ratios else None


class GpuReader:
    """Reads the devices of this node with the library that is open.

    Args:
        nvml: The module ``pynvml``, initialised.
        handles: Handles of the devices that can be read.
        lost: Number of devices that the driver counts and that cannot be read.
    """

    def __init__(self, nvml: ModuleType, handles: Sequence[Any], lost: int = 0) -> None:
        self._nvml = nvml
        self._handles = list(handles)
        self._no_driver = {getattr(nvml, name) for name in _NO_DRIVER}
        self._no_device = {getattr(nvml, name) for name in _NO_DEVICE}
        self._read_at = float("-inf")
        self._gpus: tuple[Gpu, ...] = ()
        self.lost = lost

    @property
    def description(self) -> str:
        """Description of the devices, for the log."""
        count = self.devices
        lost = f", {self.lost} of them lost" if self.lost else ""
        return f"{count} GPU{'' if count == 1 else 's'} by NVML{lost}"

    @property
    def devices(self) -> int:
        """Number of the devices, with those that are lost."""
        return len(self._handles) + self.lost

    def read(self, now: float) -> tuple[Gpu, ...]:
        """Return all devices but those that are lost; ``now`` in monotonic seconds.

        Raises:
            NoGpuError: The driver is gone, or every device is lost.
        """
        if now - self._read_at >= FRESH_SECONDS:
            self._gpus = tuple(self._read())
            self._read_at = now
        return self._gpus

    def close(self) -> None:
        """Shut the library down."""
        _shut_down(self._nvml)

    def _read(self) -> Iterator[Gpu]:
        for handle in tuple(self._handles):
            try:
                yield self._gpu(handle)
            except self._nvml.NVMLError as error:
                if error.value in self._no_driver:
                    raise NoGpuError(f"NVML: {error}") from error
                self._handles = [other for other in self._handles if other is not handle]
                self.lost += 1
                if not self._handles:
                    raise NoGpuError(f"NVML: {error}") from error

    def _gpu(self, handle: Any) -> Gpu:
        nvml = self._nvml
        rates = self._query(nvml.nvmlDeviceGetUtilizationRates, handle)
        memory = self._query(nvml.nvmlDeviceGetMemoryInfo, handle, nvml.nvmlMemory_v2)
        if memory is None:
            memory = self._query(nvml.nvmlDeviceGetMemoryInfo, handle)
        processes = self._query(nvml.nvmlDeviceGetComputeRunningProcesses, handle) or ()
        kinds = (nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC)
        pending, failed = self._remaps(handle)
        return Gpu(
            ratio=None if rates is None else min(1.0, rates.gpu / 100),
            memory_bytes=None if memory is None else memory.used,
            processes={process.pid: process.usedGpuMemory for process in processes},
            uncorrected_errors=self._query(nvml.nvmlDeviceGetTotalEccErrors, handle, *kinds),
            pending_remap=pending,
            failed_remap=failed,
        )

    def _remaps(self, handle: Any) -> tuple[bool, bool]:
        """Return whether bad memory waits to be replaced, and whether that has failed."""
        rows = self._query(self._nvml.nvmlDeviceGetRemappedRows, handle)
        if rows is not None:
            _, _, pending, failed = rows
            return bool(pending), bool(failed)
        return bool(self._query(self._nvml.nvmlDeviceGetRetiredPagesPendingStatus, handle)), False

    def _query(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of an NVML function; None if the device or driver has none.

        Raises:
            NVMLError: The device or the driver is gone.
        """
        try:
            return function(*arguments)
        except self._nvml.NVMLError as error:
            if error.value in self._no_driver | self._no_device:
                raise
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
    except nvml.NVMLError as error:
        raise NoGpuError(f"NVML: {error}") from error
    try:
        return GpuReader(nvml, *_handles(nvml))
    except NoGpuError:
        _shut_down(nvml)
        raise


def _handles(nvml: ModuleType) -> tuple[list[Any], int]:
    """Return the handles of the devices that can be read, and the number of the others.

    Raises:
        NoGpuError: None can be read.
    """
    handles: list[Any] = []
    reason = "the driver has no device"
    try:
        count = min(nvml.nvmlDeviceGetCount(), _MOST_GPUS)
    except nvml.NVMLError as error:
        raise NoGpuError(f"NVML: {error}") from error
    for index in range(count):
        try:
            handles.append(nvml.nvmlDeviceGetHandleByIndex(index))
        except nvml.NVMLError as error:
            reason = str(error)
    if not handles:
        raise NoGpuError(f"NVML: {reason}")
    return handles, count - len(handles)


def _shut_down(nvml: ModuleType) -> None:
    try:
        nvml.nvmlShutdown()
    except nvml.NVMLError as error:
        logger.debug("nvmlShutdown: %s", error)


def _require(library: str) -> None:
    import ctypes  # noqa: PLC0415 - not before an agent runs

    try:
        ctypes.CDLL(library)
    except OSError as error:
        raise NoGpuError(str(error)) from error
