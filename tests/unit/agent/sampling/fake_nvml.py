"""A stand-in for the module ``pynvml``, with the functions, fields and errors it documents."""

import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Final

import pytest

from agent.sampling.gpu import MODULE

ERRORS: Final = {
    "NVML_ERROR_UNINITIALIZED": (1, "Uninitialized"),
    "NVML_ERROR_NOT_SUPPORTED": (3, "Not Supported"),
    "NVML_ERROR_DRIVER_NOT_LOADED": (9, "Driver Not Loaded"),
    "NVML_ERROR_GPU_IS_LOST": (15, "GPU is lost"),
    "NVML_ERROR_RESET_REQUIRED": (16, "GPU requires restart"),
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH": (18, "RM has detected an NVML/RM version mismatch."),
}


class NVMLError(Exception):
    """The root of the library's errors; ``value`` is the number of the error."""

    def __init__(self, name: str) -> None:
        self.value, text = ERRORS[name]
        super().__init__(text)


RESERVED_BYTES = 500
"""What an old driver reserves in the tests."""


@dataclass
class Device:
    """``None`` is what the device does not support; a process without bytes as in MIG mode.

    ``used_bytes`` is what programs have allocated; ``reserved_bytes`` is None for an old driver,
    which knows the sum of both only. ``error`` is the name of what every question about the device
    ends with, ``hidden`` also that for its handle. ``rows`` are remapped rows as the library counts
    them, ``retired_pending`` is what a device before Ampere has instead.
    """

    gpu_percent: int | None = 0
    used_bytes: int | None = 0
    processes: dict[int, int | None] | None = field(default_factory=dict)
    reserved_bytes: int | None = 0
    error: str = ""
    hidden: bool = False
    ecc_errors: int | None = None
    rows: tuple[int, int, int, int] | None = None
    retired_pending: int | None = None

    def memory_bytes(self, version: int | None) -> int | None:
        """The second version has what is allocated, the first what is reserved too."""
        if version is not None and self.reserved_bytes is None:
            return None
        if version is not None or self.used_bytes is None:
            return self.used_bytes
        return self.used_bytes + (RESERVED_BYTES if self.reserved_bytes is None else 0)


@dataclass
class Machine:
    """What the library finds: tests change it while a program runs.

    Attributes:
        devices: Its devices.
        error: The name of what every call ends with: the driver's state. Empty: it is loaded.
        calls: What was called.
        initialised: Number of calls of ``nvmlInit`` that are not shut down.
    """

    devices: list[Device] = field(default_factory=list)
    error: str = ""
    calls: list[str] = field(default_factory=list)
    initialised: int = 0

    def init(self) -> None:
        """``nvmlInit``."""
        self.calls.append("init")
        self.check()
        self.initialised += 1

    def shutdown(self) -> None:
        """``nvmlShutdown``: what is not initialised cannot be shut down."""
        self.calls.append("shutdown")
        self.used()
        self.initialised -= 1

    def check(self) -> None:
        """Raise what the driver's state is."""
        if self.error:
            raise NVMLError(self.error)

    def used(self) -> None:
        """Raise what a call ends with that needs the library."""
        if not self.initialised:
            raise NVMLError("NVML_ERROR_UNINITIALIZED")

    def handle(self, index: int) -> Device:
        """``nvmlDeviceGetHandleByIndex``."""
        self.used()
        device = self.devices[index]
        return self.asked(device) if device.hidden else device

    def asked(self, device: Device) -> Device:
        """Return a device that a question is about."""
        self.used()
        self.check()
        if device.error:
            raise NVMLError(device.error)
        return device

    def count(self) -> int:
        """``nvmlDeviceGetCount``."""
        self.used()
        self.check()
        return len(self.devices)


def module(machine: Machine) -> ModuleType:
    """The library on a machine."""

    def supported(value):
        if value is None:
            raise NVMLError("NVML_ERROR_NOT_SUPPORTED")
        return value

    def utilization(handle: Device) -> SimpleNamespace:
        machine.calls.append("utilization")
        return SimpleNamespace(gpu=supported(machine.asked(handle).gpu_percent), memory=1)

    def memory(handle: Device, version: int | None = None) -> SimpleNamespace:
        return SimpleNamespace(used=supported(machine.asked(handle).memory_bytes(version)))

    def processes(handle: Device) -> list[SimpleNamespace]:
        return [
            SimpleNamespace(pid=pid, usedGpuMemory=used)
            for pid, used in supported(machine.asked(handle).processes).items()
        ]

    def ecc_errors(handle: Device, kind: int, counter: int) -> int:
        assert (kind, counter) == (1, 0)
        return supported(machine.asked(handle).ecc_errors)

    nvml = ModuleType("pynvml")
    vars(nvml).update(
        {name: number for name, (number, _) in ERRORS.items()},
        NVMLError=NVMLError,
        nvmlInit=machine.init,
        nvmlShutdown=machine.shutdown,
        nvmlDeviceGetCount=machine.count,
        nvmlDeviceGetHandleByIndex=machine.handle,
        nvmlDeviceGetUtilizationRates=utilization,
        nvmlDeviceGetMemoryInfo=memory,
        nvmlMemory_v2=0x02000028,
        nvmlDeviceGetComputeRunningProcesses=processes,
        NVML_MEMORY_ERROR_TYPE_UNCORRECTED=1,
        NVML_VOLATILE_ECC=0,
        nvmlDeviceGetTotalEccErrors=ecc_errors,
        nvmlDeviceGetRemappedRows=lambda handle: supported(machine.asked(handle).rows),
        nvmlDeviceGetRetiredPagesPendingStatus=lambda handle: supported(
            machine.asked(handle).retired_pending
        ),
    )
    return nvml


def install(monkeypatch: pytest.MonkeyPatch, *devices: Device, error: str = "") -> Machine:
    """Put the library on this machine: the C library, which always is, stands for its file."""
    machine = Machine(list(devices), error)
    monkeypatch.setitem(sys.modules, MODULE, module(machine))
    monkeypatch.setattr("agent.sampling.gpu.LIBRARY", "libc.so.6")
    return machine
