"""What the library, the driver or the device does not give is unknown, and nothing else changes."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from agent.sampling.gpu import FRESH_SECONDS, Gpu, GpuReader, open_gpu
from agent.sampling.node import NodeSampler
from tests.gpu.loads import load
from tests.gpu.machine import note, skip_without_gpu
from tests.root import ROOT

skip_without_gpu()
pytestmark = [pytest.mark.gpu, pytest.mark.alone]
pynvml = pytest.importorskip("pynvml")

WITHOUT: dict[str, tuple[str, Callable[[Gpu], bool]]] = {
    "utilisation": (
        "nvmlDeviceGetUtilizationRates",
        lambda gpu: gpu.ratio is None and bool(gpu.memory_bytes and gpu.processes),
    ),
    "memory": (
        "nvmlDeviceGetMemoryInfo",
        lambda gpu: gpu.memory_bytes is None and gpu.ratio is not None and bool(gpu.processes),
    ),
    "processes": (
        "nvmlDeviceGetComputeRunningProcesses",
        lambda gpu: gpu.processes == {} and gpu.ratio is not None and bool(gpu.memory_bytes),
    ),
}
ERRORS = ("NVML_ERROR_NOT_SUPPORTED", "NVML_ERROR_FUNCTION_NOT_FOUND", "NVML_ERROR_NO_PERMISSION")


@pytest.mark.parametrize(("function", "holds"), WITHOUT.values(), ids=WITHOUT)
def test_a_figure_that_the_device_refuses_is_unknown_and_the_others_stay(
    reader: GpuReader,
    monkeypatch: pytest.MonkeyPatch,
    function: str,
    holds: Callable[[Gpu], bool],
) -> None:
    with load(0.0):
        for now, name in enumerate(ERRORS):

            def refused(*_: Any, error: str = name) -> None:
                raise pynvml.NVMLError(getattr(pynvml, error))

            refused.__name__ = function
            monkeypatch.setattr(pynvml, function, refused)
            gpu = reader.read(now * FRESH_SECONDS)[0]
            assert holds(gpu), (name, gpu)


def test_a_library_that_was_shut_down_gives_no_figure_and_no_error() -> None:
    reader = open_gpu()
    before = reader.read(0.0)
    reader.close()
    after = reader.read(FRESH_SECONDS)
    assert list(after) == [Gpu(None, None, {})] * len(before)
    use, cores = NodeSampler(reader).sample(2 * FRESH_SECONDS)
    assert (use.gpu_ratio, use.gpu_memory_bytes) == (None, None)
    assert cores > 0


QUERIES: dict[str, Callable[[Any], Any]] = {
    "MIG mode": pynvml.nvmlDeviceGetMigMode,
    "a MIG device": lambda handle: pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, 0),
    "fan speed": pynvml.nvmlDeviceGetFanSpeed,
    "ECC mode": pynvml.nvmlDeviceGetEccMode,
    "display": pynvml.nvmlDeviceGetDisplayActive,
    "bridges": pynvml.nvmlDeviceGetBridgeChipInfo,
}


def test_a_query_that_this_device_refuses_gives_nothing(reader: GpuReader) -> None:
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    answers: dict[str, str] = {}
    for name, query in QUERIES.items():
        try:
            answer = query(handle)
        except pynvml.NVMLError as error:
            answers[name] = f"refused: {error}"
            assert reader._query(query, handle) is None
        else:
            answers[name] = str(answer)
            assert reader._query(query, handle) is not None
    note("queries", answers)
    assert [name for name, answer in answers.items() if answer.startswith("refused")]


HIDDEN = """
import pynvml
def missing(*_): raise OSError("no such library")
pynvml.CDLL = missing
from agent.sampling.finding import Source, find
print(find(Source.NONE).description)
"""


def test_without_the_drivers_library_the_description_has_the_reason() -> None:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("pods: nothing; GPUs: none (NVML: "), done.stdout
    note("without the driver's library", done.stdout.strip())
