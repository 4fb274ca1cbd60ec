"""GPUs by a stand-in for NVIDIA's library; a real one: ``tests/gpu``."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.errors import NoGpuError
from agent.sampling.finding import Source, find
from agent.sampling.gpu import FRESH_SECONDS, MODULE, Gpu, mean_ratio, open_gpu
from agent.sampling.node import NodeSampler
from agent.sampling.pods import PodSampler
from agent.sampling.readings import PodSource, Reading
from shared.model import Uid
from shared.progress import Use
from tests.unit.agent.sampling.fake_nvml import RESERVED_BYTES, Device, install
from tests.unit.agent.sampling.trees import OTHER, UID


class Pods(PodSource):
    """Pods by their processes; nothing else is known of them."""

    description = "pods of the test"

    def __init__(self, pids: Mapping[str, tuple[int, ...]]) -> None:
        self._pids = pids

    def read(self, uids, now):
        return {uid: Reading() for uid in uids if uid in self._pids}

    def pids(self, uid: Uid) -> tuple[int, ...]:
        return self._pids[uid]

    def close(self) -> None:
        pass


def test_devices_are_read_with_their_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Device(50, 1000, {7: 600}), Device(None, None, None))
    reader = open_gpu()
    assert reader.description == "2 GPUs by NVML"
    assert reader.read(0.0) == (Gpu(0.5, 1000, {7: 600}), Gpu(None, None, {}))


MEMORY: dict[str, tuple[Device, int]] = {
    "what the driver reserves is not in use": (Device(0, 1000, {}, reserved_bytes=600), 1000),
    "an old driver knows the sum only": (
        Device(0, 1000, {}, reserved_bytes=None),
        1000 + RESERVED_BYTES,
    ),
}


@pytest.mark.parametrize(("device", "wanted"), MEMORY.values(), ids=MEMORY)
def test_memory_in_use(monkeypatch: pytest.MonkeyPatch, device: Device, wanted: int) -> None:
    install(monkeypatch, device)
    reader = open_gpu()
    assert [gpu.memory_bytes for gpu in reader.read(0.0)] == [wanted]


def test_without_the_drivers_library_the_module_is_not_even_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    monkeypatch.setattr("agent.sampling.gpu.LIBRARY", "libmissing.so.1")
    with pytest.raises(NoGpuError, match=r"libmissing\.so\.1: cannot open"):
        open_gpu()
    assert MODULE not in sys.modules


def test_without_the_package_the_reason_is_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    monkeypatch.setitem(sys.modules, MODULE, None)  # what makes an import fail
    with pytest.raises(NoGpuError, match="nvidia-ml-py is not installed"):
        open_gpu()


NO_GPU = {
    "without a device": ("", "no device"),
    "without a driver": ("NVML_ERROR_DRIVER_NOT_LOADED", "Driver Not Loaded"),
}


@pytest.mark.parametrize(("error", "reason"), NO_GPU.values(), ids=NO_GPU)
def test_the_description_has_the_reason_why_no_gpu_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: str, reason: str
) -> None:
    machine = install(monkeypatch, error=error)
    samplers = find(Source.NONE, cgroup_root=tmp_path)
    assert samplers.description.startswith("pods: nothing; GPUs: none (NVML: ")
    assert reason in samplers.description
    assert machine.initialised == 0


def test_the_description_has_the_number_of_gpus(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, Device())
    assert find(Source.NONE, cgroup_root=tmp_path).description.endswith("GPUs: 1 GPU by NVML")


def test_the_node_and_its_pods_share_one_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = install(monkeypatch, Device())
    reader = open_gpu()
    for now in (0.0, 0.1, FRESH_SECONDS, FRESH_SECONDS + 0.1):
        reader.read(now)
    assert machine.calls.count("utilization") == 2


def test_the_library_is_shut_down(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = install(monkeypatch, Device())
    reader = open_gpu()
    reader.close()
    assert machine.calls[-1] == "shutdown"


MAPPINGS: dict[str, tuple[list[Device], dict[str, tuple[int, ...]], dict[str, Use]]] = {
    "each pod has the devices that its processes are on": (
        [Device(40, 900, {1: 800}), Device(80, 900, {1: 100, 2: 700}), Device(0, 9, {})],
        {UID: (1, 11), OTHER: (2,)},
        {
            UID: Use(gpu_ratio=pytest.approx(0.6), gpu_memory_bytes=900),
            OTHER: Use(gpu_ratio=0.8, gpu_memory_bytes=700),
        },
    ),
    "processes that we cannot see leave pods without a figure": (
        [Device(40, 900, {4711: 800})],
        {UID: (1,)},
        {UID: Use()},
    ),
    "no process on any device": ([Device(40, 900, {})], {UID: (1,)}, {UID: Use()}),
    "a device that does not say who holds how much": (
        [Device(None, 900, {1: None})],
        {UID: (1,)},
        {UID: Use()},
    ),
}


@pytest.mark.parametrize(("devices", "pids", "wanted"), MAPPINGS.values(), ids=MAPPINGS)
def test_pods_on_gpus(
    monkeypatch: pytest.MonkeyPatch,
    devices: list[Device],
    pids: dict[str, tuple[int, ...]],
    wanted: dict[str, Use],
) -> None:
    install(monkeypatch, *devices)
    sampler = PodSampler([Pods(pids)], open_gpu())
    assert sampler.sample([Uid(uid) for uid in pids], 0.0) == wanted


def test_the_node_has_the_mean_and_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Device(40, 900), Device(80, 100), Device(None, None))
    use, _ = NodeSampler(open_gpu()).sample(0.0)
    assert (use.gpu_ratio, use.gpu_memory_bytes) == (pytest.approx(0.6), 1000)


def test_the_mean_of_nothing_is_unknown() -> None:
    assert mean_ratio([Gpu(None, None, {})]) is None
