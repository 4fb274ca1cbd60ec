"""The agent's reader of GPUs beside ``nvidia-smi``.

The load is a program of our own, so that the figures to expect are known, and nothing else may
run on the first GPU meanwhile.
"""

import importlib.util
import statistics
from collections.abc import Mapping
from itertools import count
from time import monotonic, sleep

import pytest

from agent.sampling.gpu import FRESH_SECONDS, Gpu, GpuReader
from agent.sampling.node import NodeSampler
from agent.sampling.pods import PodSampler
from agent.sampling.readings import PodSource, Reading
from shared.model import Uid
from tests.gpu.loads import HELD_MEBIBYTES, load
from tests.gpu.machine import devices, note, skip_without_gpu, smi
from tests.unit.agent.sampling.fake_nvml import ERRORS

skip_without_gpu()
pytestmark = [pytest.mark.gpu, pytest.mark.alone]

SAMPLES = 10
RATIO = 0.1
"""The two readers ask one after the other: a period of the driver may end between them."""
NOW = count(step=FRESH_SECONDS)
MEMORY_BYTES = 2 * 2**20
"""``nvidia-smi`` gives whole MiB."""


def first(reader: GpuReader) -> Gpu:
    """The first device now: each call has a time of its own, so that no earlier reading is used."""
    return reader.read(next(NOW))[0]


def ratios(reader: GpuReader) -> tuple[float, float]:
    """The medians of the utilisation that we and nvidia-smi read, turn by turn."""
    ours, theirs = [], []
    for _ in range(SAMPLES):
        ratio = first(reader).ratio
        assert ratio is not None
        ours.append(ratio)
        theirs.append(float(smi("gpu", "utilization.gpu")[0][0]) / 100)
        sleep(0.2)  # so that the samples are of several periods
    return statistics.median(ours), statistics.median(theirs)


def test_every_device_is_read(reader: GpuReader) -> None:
    note("device", smi("gpu", "name,driver_version,mig.mode.current,memory.total"))
    assert len(reader.read(next(NOW))) == len(devices())


LOADS: Mapping[str, tuple[float, float, float]] = {
    "a GPU that always computes": (1.0, 0.95, 1.0),
    "a GPU that computes for half of the time": (0.5, 0.3, 0.75),
    "a GPU that only holds memory": (0.0, 0.0, 0.02),
}


@pytest.mark.parametrize(("share", "least", "most"), LOADS.values(), ids=LOADS)
def test_utilisation_is_that_of_nvidia_smi(
    reader: GpuReader, share: float, least: float, most: float
) -> None:
    with load(share):
        ours, theirs = ratios(reader)
    note("share of the time, ours, nvidia-smi", (share, ours, theirs))
    assert abs(ours - theirs) <= RATIO
    assert least <= ours <= most


def test_memory_is_that_of_nvidia_smi(reader: GpuReader) -> None:
    figures = []
    with load(0.0):
        held = first(reader).memory_bytes
        figures.append((held, int(smi("gpu", "memory.used")[0][0]) * 2**20))
    free = first(reader).memory_bytes
    figures.append((free, int(smi("gpu", "memory.used")[0][0]) * 2**20))
    note("memory in bytes, ours and nvidia-smi, held and free", figures)
    assert held is not None
    assert free is not None
    assert all(abs(ours - theirs) <= MEMORY_BYTES for ours, theirs in figures)
    assert held - free >= HELD_MEBIBYTES * 2**20


def test_reserved_memory_of_the_driver_does_not_count(reader: GpuReader) -> None:
    nvml = pytest.importorskip("pynvml")
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    both, apart = (
        nvml.nvmlDeviceGetMemoryInfo(handle),
        nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2),
    )
    ours = first(reader).memory_bytes
    note(
        "memory in bytes: ours, with what is reserved, reserved", (ours, both.used, apart.reserved)
    )
    assert ours is not None
    assert abs(both.used - ours - apart.reserved) <= MEMORY_BYTES


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_a_program_of_torch_is_seen_with_its_memory(reader: GpuReader) -> None:
    idle = first(reader)
    with load(1.0, "torch_matmul") as pid:
        ours, theirs = ratios(reader)
        busy = first(reader)
    note("idle and busy, and nvidia-smi of the busy one", (idle, busy, theirs))
    assert idle.ratio is not None
    assert idle.memory_bytes is not None
    assert busy.memory_bytes is not None
    assert idle.ratio <= 0.02
    assert ours >= 0.9
    assert abs(ours - theirs) <= RATIO
    assert busy.memory_bytes - idle.memory_bytes >= HELD_MEBIBYTES * 2**20
    assert pid in busy.processes
    held = busy.processes[pid]
    assert held is None or held >= HELD_MEBIBYTES * 2**20


def test_the_node_has_the_figures_of_its_devices(reader: GpuReader) -> None:
    with load(1.0):
        use, _ = NodeSampler(reader).sample(monotonic())
    note("use of the node", use)
    assert use.gpu_ratio is not None
    assert use.gpu_memory_bytes is not None
    assert use.gpu_ratio * len(reader.read(next(NOW))) >= 0.95
    assert use.gpu_memory_bytes >= HELD_MEBIBYTES * 2**20


def test_processes_are_those_of_nvidia_smi(reader: GpuReader) -> None:
    with load(0.0) as pid:
        ours = first(reader).processes
        theirs = {int(row[0]): row[1] for row in smi("compute-apps", "pid,used_memory")}
    note("memory by process, ours and nvidia-smi", (dict(ours), theirs, f"pid {pid}"))
    assert ours.keys() == theirs.keys()
    assert pid in ours
    for process, used in ours.items():
        shown = theirs[process]
        assert (used is None) == (not shown.isdigit())
        assert used is None or abs(used - int(shown) * 2**20) <= MEMORY_BYTES


def test_errors_have_the_numbers_that_the_stand_in_gives_them() -> None:
    nvml = pytest.importorskip("pynvml")
    numbers = {name: number for name, (number, _) in ERRORS.items()}
    assert {name: getattr(nvml, name) for name in ERRORS} == numbers


class OnePod(PodSource):
    """A pod whose process is known."""

    description = "a pod of the test"

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def read(self, uids, now):
        return {uid: Reading() for uid in uids}

    def pids(self, uid: Uid) -> tuple[int, ...]:
        return (self._pid,)

    def close(self) -> None:
        pass


def test_a_pod_has_the_gpu_and_the_memory_of_its_process(reader: GpuReader) -> None:
    with load(1.0) as pid:
        use = PodSampler([OnePod(pid)], reader).sample([Uid("pod")], monotonic())[Uid("pod")]
    note("use of the pod", use)
    assert use.gpu_ratio is not None
    assert use.gpu_ratio >= 0.95
    assert use.gpu_memory_bytes is None or use.gpu_memory_bytes >= HELD_MEBIBYTES * 2**20


READINGS = 100


def test_a_reading_takes_little_time(reader: GpuReader) -> None:
    taken = []
    with load(1.0):
        for _ in range(READINGS):
            begun = monotonic()
            first(reader)
            taken.append(monotonic() - begun)
    milliseconds = [round(1000 * value, 3) for value in (statistics.median(taken), max(taken))]
    note("milliseconds of a reading, median and longest", milliseconds)
    assert statistics.median(taken) < FRESH_SECONDS / 5
