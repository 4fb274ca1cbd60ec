"""A stand-in for the module ``pynvml``, with the functions, fields and errors it documents."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace


class NVMLError(Exception):
    """The root of the library's errors."""


class NVMLError_DriverNotLoaded(NVMLError):  # noqa: N801, N818 - the library's name
    pass


class NVMLError_NotSupported(NVMLError):  # noqa: N801, N818 - the library's name
    pass


RESERVED_BYTES = 500
"""What an old driver reserves in the tests."""


@dataclass
class Device:
    """``None`` is what the device does not support; a process without bytes as in MIG mode.

    ``used_bytes`` is what programs have allocated; ``reserved_bytes`` is None for an old driver,
    which knows the sum of both only.
    """

    gpu_percent: int | None = 0
    used_bytes: int | None = 0
    processes: dict[int, int | None] | None = field(default_factory=dict)
    reserved_bytes: int | None = 0

    def memory_bytes(self, version: int | None) -> int | None:
        """The second version has what is allocated, the first what is reserved too."""
        if version is not None and self.reserved_bytes is None:
            return None
        if version is not None or self.used_bytes is None:
            return self.used_bytes
        return self.used_bytes + (RESERVED_BYTES if self.reserved_bytes is None else 0)


def module(devices: Sequence[Device], *, driver: bool = True) -> ModuleType:
    """The library on a machine with these devices."""
    nvml = ModuleType("pynvml")
    calls: list[str] = []

    def supported(value):
        if value is None:
            raise NVMLError_NotSupported
        return value

    def init() -> None:
        calls.append("init")
        if not driver:
            raise NVMLError_DriverNotLoaded("Driver Not Loaded")

    def utilization(handle: Device) -> SimpleNamespace:
        calls.append("utilization")
        return SimpleNamespace(gpu=supported(handle.gpu_percent), memory=1)

    def memory(handle: Device, version: int | None = None) -> SimpleNamespace:
        return SimpleNamespace(used=supported(handle.memory_bytes(version)))

    def processes(handle: Device) -> list[SimpleNamespace]:
        return [
            SimpleNamespace(pid=pid, usedGpuMemory=used)
            for pid, used in supported(handle.processes).items()
        ]

    vars(nvml).update(
        calls=calls,
        NVMLError=NVMLError,
        nvmlInit=init,
        nvmlShutdown=lambda: calls.append("shutdown"),
        nvmlDeviceGetCount=lambda: len(devices),
        nvmlDeviceGetHandleByIndex=lambda index: devices[index],
        nvmlDeviceGetUtilizationRates=utilization,
        nvmlDeviceGetMemoryInfo=memory,
        nvmlMemory_v2=0x02000028,
        nvmlDeviceGetComputeRunningProcesses=processes,
    )
    return nvml
