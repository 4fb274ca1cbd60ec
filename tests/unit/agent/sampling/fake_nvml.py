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


@dataclass
class Device:
    """``None`` is what the device does not support; a process without bytes as in MIG mode."""

    gpu_percent: int | None = 0
    used_bytes: int | None = 0
    processes: dict[int, int | None] | None = field(default_factory=dict)


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
            raise NVMLError_DriverNotLoaded

    def utilization(handle: Device) -> SimpleNamespace:
        calls.append("utilization")
        return SimpleNamespace(gpu=supported(handle.gpu_percent), memory=1)

    def memory(handle: Device) -> SimpleNamespace:
        return SimpleNamespace(used=supported(handle.used_bytes), free=0, total=2**36)

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
        nvmlDeviceGetComputeRunningProcesses=processes,
    )
    return nvml
