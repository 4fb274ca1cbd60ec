"""The agent's reader beside ``nvidia-smi``, where this machine has a GPU of NVIDIA.

The load is a program of our own, so that the figures to expect are known, and nothing else may
run on the first GPU meanwhile.
"""

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import monotonic, sleep

import pytest

from agent.sampling.gpu import FRESH_SECONDS, Gpu, GpuReader, open_gpu
from agent.sampling.pods import PodSampler
from agent.sampling.readings import PodSource, Reading
from shared.model import Uid

LOAD = Path(__file__).parent / "programs/gpu_load.py"
HELD_MEBIBYTES = 1024
SAMPLES = 10
SETTLING_SECONDS = 3.0
"""The driver's figure is a mean over up to a second; this is more than twice that."""
RATIO = 0.1
"""The two readers ask one after the other: a period of the driver may end between them."""
NOW = count(step=FRESH_SECONDS)
MEMORY_BYTES = 2 * 2**20
"""``nvidia-smi`` gives whole MiB."""


def smi(kind: str, fields: str) -> list[list[str]]:
    done = subprocess.run(
        ["nvidia-smi", "--id=0", f"--query-{kind}={fields}", "--format=csv,noheader,nounits"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return [[cell.strip() for cell in row.split(",")] for row in done.stdout.splitlines() if row]


@pytest.fixture
def reader() -> Iterator[GpuReader]:
    if shutil.which("nvidia-smi") is None:
        pytest.skip("there is no nvidia-smi")
    gpus = open_gpu()
    if gpus is None:
        pytest.skip("NVML finds no GPU: it needs nvidia-ml-py, a driver and a device")
    yield gpus
    gpus.close()


def note(name: str, figure: object) -> None:
    """Print what was measured; ``pytest -s`` shows it of tests that pass, too."""
    sys.stdout.write(f"\n{name}: {figure}")


@contextmanager
def load(share: float) -> Iterator[int]:
    """Yield the pid of a program that computes for this share of the time."""
    with subprocess.Popen(
        [sys.executable, LOAD, str(share), str(HELD_MEBIBYTES)],
        env=os.environ | {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"},  # as NVML counts devices
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        sleep(SETTLING_SECONDS)  # because the figure is a mean of the past
        yield process.pid
        process.stdin.close()
        assert process.wait(60) == 0


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


def test_a_reading_takes_little_time(reader: GpuReader) -> None:
    begun = monotonic()
    for _ in range(SAMPLES):
        first(reader)
    seconds = (monotonic() - begun) / SAMPLES
    note("seconds for a reading", round(seconds, 5))
    assert seconds < FRESH_SECONDS / 5
