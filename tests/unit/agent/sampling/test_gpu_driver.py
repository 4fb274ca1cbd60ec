"""Drivers that come after the agent, go away, are replaced, and lose devices."""

import itertools
import logging
import sys
from collections.abc import Callable

import pytest

from agent.sampling.gpu import MODULE
from agent.sampling.gpu_driver import LEAST_PAUSE_SECONDS, MOST_PAUSE_SECONDS, Gpus
from shared.gpu_faults import faults
from shared.progress import GpuHealth
from tests.unit.agent.sampling.fake_nvml import ERRORS, Device, install

SAMPLE_SECONDS = 5
"""Between two readings."""
HOUR_SECONDS = 3600
GONE = ("NVML_ERROR_UNINITIALIZED", "NVML_ERROR_DRIVER_NOT_LOADED")


def readings(gpus: Gpus, begin: int, seconds: int) -> list[int]:
    """The number of devices of each reading in a time."""
    return [len(gpus.read(float(now))) for now in range(begin, begin + seconds, SAMPLE_SECONDS)]


def without_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    monkeypatch.setattr("agent.sampling.gpu.LIBRARY", "libmissing.so.1")


def test_a_driver_that_comes_after_the_agent_is_found(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "agent.sampling.gpu_driver")
    without_driver(monkeypatch)
    gpus = Gpus()
    assert set(readings(gpus, 0, HOUR_SECONDS)) == {0}
    assert MODULE not in sys.modules  # an hour of tries has loaded nothing
    assert caplog.messages == []
    install(monkeypatch, Device(50), Device(100))
    seen = readings(gpus, HOUR_SECONDS, HOUR_SECONDS)
    assert seen.index(2) * SAMPLE_SECONDS <= MOST_PAUSE_SECONDS
    assert set(seen[seen.index(2) :]) == {2}
    (line,) = caplog.messages
    assert line.startswith("GPUs: 2 GPUs by NVML; before: none (libmissing.so.1: cannot open")


def test_pauses_between_tries_grow_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = install(monkeypatch, error="NVML_ERROR_DRIVER_NOT_LOADED")
    gpus, tries = Gpus(), []
    for now in range(2 * HOUR_SECONDS):
        before = len(machine.calls)
        gpus.read(float(now))
        gpus.read(float(now))  # pods and node: one moment has one try
        tries.extend([now] * (len(machine.calls) - before))
    pauses = [after - before for before, after in itertools.pairwise(tries)]
    assert pauses[0] == LEAST_PAUSE_SECONDS
    assert pauses == [min(2**i * pauses[0], MOST_PAUSE_SECONDS) for i in range(len(pauses))]
    assert machine.initialised == 0


@pytest.mark.parametrize("error", GONE)
def test_a_driver_that_goes_away_and_comes_back_is_read_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: str
) -> None:
    caplog.set_level(logging.INFO, "agent.sampling.gpu_driver")
    machine = install(monkeypatch, Device())
    gpus = Gpus()
    assert set(readings(gpus, 0, 60)) == {1}
    machine.error = error
    assert set(readings(gpus, 60, HOUR_SECONDS)) == {0}
    assert machine.initialised == 0  # nothing of ours stays in the driver
    machine.error, machine.devices = "", [Device(), Device()]
    back = readings(gpus, 2 * HOUR_SECONDS, 60)
    assert set(back) == {2}
    assert machine.initialised == 1
    reason = f"none (NVML: {ERRORS[error][1]})"
    assert caplog.messages == [
        f"GPUs: {reason}; before: 1 GPU by NVML",
        f"GPUs: 2 GPUs by NVML; before: {reason}",
    ]


def test_a_driver_of_another_version_than_the_library_is_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = install(monkeypatch, Device())
    gpus = Gpus()
    machine.error = "NVML_ERROR_LIB_RM_VERSION_MISMATCH"
    assert gpus.read(0.0) == ()
    assert "NVML/RM version mismatch" in gpus.description


def lost(device: Device) -> None:
    device.error = "NVML_ERROR_GPU_IS_LOST"


def lost_and_hidden(device: Device) -> None:
    device.error, device.hidden = "NVML_ERROR_GPU_IS_LOST", True


def in_need_of_a_reset(device: Device) -> None:
    device.error = "NVML_ERROR_RESET_REQUIRED"


LOSSES: dict[str, Callable[[Device], None]] = {
    "its handle is given still": lost,
    "it has no handle any more": lost_and_hidden,
    "it must be reset": in_need_of_a_reset,
}


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
def test_a_lost_device_takes_no_other_with_it_and_is_found_again(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    lose: Callable[[Device], None],
) -> None:
    caplog.set_level(logging.INFO, "agent.sampling.gpu_driver")
    machine = install(monkeypatch, Device(10), Device(20), Device(30))
    gpus = Gpus()
    lose(machine.devices[1])
    assert set(readings(gpus, 0, HOUR_SECONDS)) == {2}
    assert [gpu.ratio for gpu in gpus.read(float(HOUR_SECONDS))] == [0.1, 0.3]
    machine.devices[1] = Device(20)
    assert readings(gpus, 2 * HOUR_SECONDS, 60)[-1] == 3
    assert machine.initialised == 1
    assert caplog.messages == [
        "GPUs: 3 GPUs by NVML, 1 of them lost; before: 3 GPUs by NVML",
        "GPUs: 3 GPUs by NVML; before: 3 GPUs by NVML, 1 of them lost",
    ]


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
def test_the_loss_of_every_device_is_one_change(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    lose: Callable[[Device], None],
) -> None:
    machine = install(monkeypatch, Device())
    gpus = Gpus()
    lose(machine.devices[0])
    assert set(readings(gpus, 0, HOUR_SECONDS)) == {0}
    (line,) = caplog.messages
    assert line.startswith("GPUs: none (NVML: GPU ")


HEALTH: dict[str, tuple[list[Device], GpuHealth | None, tuple[str, ...]]] = {
    "no device": ([], None, ()),
    "devices that count no errors": ([Device(), Device()], GpuHealth(devices=2), ()),
    "devices without faults": (
        [Device(ecc_errors=0, rows=(0, 0, 0, 0))],
        GpuHealth(devices=1, uncorrected_errors=0),
        (),
    ),
    "errors of all devices are one sum": (
        [Device(ecc_errors=2), Device(ecc_errors=None), Device(ecc_errors=3)],
        GpuHealth(devices=3, uncorrected_errors=5),
        ("5 uncorrected errors",),
    ),
    "rows that are remapped at a reset": (
        [Device(rows=(3, 1, 1, 0)), Device(rows=(1, 1, 0, 0))],
        GpuHealth(devices=2, pending_remaps=1),
        ("1 to be reset",),
    ),
    "a failed remap": (
        [Device(rows=(0, 9, 0, 1))],
        GpuHealth(devices=1, failed_remaps=1),
        ("1 to be replaced",),
    ),
    "pages of a device before Ampere": (
        [Device(retired_pending=1), Device(retired_pending=0)],
        GpuHealth(devices=2, pending_remaps=1),
        ("1 to be reset",),
    ),
    "a lost device": (
        [Device(ecc_errors=1), Device(ecc_errors=7, error="NVML_ERROR_GPU_IS_LOST")],
        GpuHealth(devices=2, lost=1, uncorrected_errors=1),
        ("1 of 2 lost", "1 uncorrected error"),
    ),
}


@pytest.mark.parametrize(("devices", "wanted", "words"), HEALTH.values(), ids=HEALTH)
def test_faults_of_devices(
    monkeypatch: pytest.MonkeyPatch,
    devices: list[Device],
    wanted: GpuHealth | None,
    words: tuple[str, ...],
) -> None:
    install(monkeypatch, *devices)
    gpus = Gpus()
    gpus.read(0.0)
    assert gpus.health == wanted
    assert faults(wanted) == words if wanted else words == ()


def test_devices_whose_driver_has_gone_count_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = install(monkeypatch, Device(), Device())
    gpus = Gpus()
    gpus.read(0.0)
    machine.error = "NVML_ERROR_DRIVER_NOT_LOADED"
    gpus.read(10.0)
    assert gpus.health == GpuHealth(devices=2, lost=2)
