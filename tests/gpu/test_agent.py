"""The agent's own process beside a training on a GPU: it reads metrics and NVML, and reports both.

Of the cluster only the extender is played, over TLS. The training is a program of
``tests/frameworks``; the extender's request reaches it through the agent and the volume.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import yaml

from bench.agents.agent import image_variables
from shared.progress import CheckpointPhase, PodReport
from shared.system_clock import SystemClock
from shared.wire import CheckpointRequest
from tests.fakes.eventually import eventually
from tests.fakes.extender import NODE, FakeExtender, Trust, fake_extender, place
from tests.frameworks.training import Training
from tests.gpu.machine import note, skip_without_gpu, smi
from tests.root import ROOT

skip_without_gpu()
pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torchdata", reason="torchdata is not installed")
pytestmark = [pytest.mark.gpu, pytest.mark.alone]

TOTAL = 1500
BUSY = {
    "TRAIN_DEVICE": "cuda",
    "WIDTH": "8192",
    "BATCH": "256",
    "BATCHES": "400",
    "STEP_SECONDS": "0",
}
WITHIN_SECONDS = 60.0
MEMORY_BYTES = 64 * 2**20
"""Between the agent's reading and that of nvidia-smi the training goes on."""
WITHOUT_LIBRARY = "raise ImportError('not here')\n"
LOADED = """
import agent.main, agent.running, agent.starting, contextlib
with contextlib.suppress(ImportError): import pynvml
"""
"""Compiles what the agent loads, as a build of the image does: compiling leaves memory behind."""
SETTLED = 12
"""Heartbeats after which the agent's memory is read."""


@dataclass(frozen=True)
class Node:
    """The files of a node."""

    directory: Path
    trust: Trust

    @property
    def volume(self) -> Path:
        return self.directory / "volume"

    @property
    def log(self) -> Path:
        return self.directory / "agent.log"

    @classmethod
    def create(cls, directory: Path) -> "Node":
        found = cls(directory, Trust.create(directory))
        (found.volume / "team/train").mkdir(parents=True)
        return found

    def training(self) -> Training:
        job = self.volume / "team/train"
        metrics = str(job / "metrics/train.jsonl")
        return Training(job, "torch_mixed", TOTAL, **BUSY, SHUNTYARD_METRICS_FILE=metrics)

    def settings(self, extender: FakeExtender) -> Path:
        sections = {
            "agent": {"node": NODE},
            "extender": {
                "urls": [extender.url],
                "authority": str(self.trust.authority),
                "token": str(self.trust.token),
            },
            "report": {"interval_seconds": 0.25},
            "discovery": {"interval_seconds": 0.25},
            "following": {
                "interval_seconds": 0.25,
                "checkpoint_seconds": 0.25,
                "asked_seconds": 0.1,
                "find_seconds": 0.25,
            },
            "sampling": {"interval_seconds": 0.5},
            "paths": {"volume": str(self.volume), "pod_logs": str(self.directory / "pods")},
            "api": {"listen_port": 0},
        }
        file = self.directory / "agent.yaml"
        file.write_text(yaml.safe_dump(sections))
        return file

    def described(self) -> str:
        """Return what the agent's log has of its samplers."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return next(line["sampling"] for line in lines if "sampling" in line)


@contextmanager
def agent(node: Node, extender: FakeExtender, *before: Path) -> Iterator[psutil.Process]:
    """Run the agent as its image does; modules of ``before`` replace installed ones."""
    environ = {name: text for name, text in os.environ.items() if "SHUNTYARD" not in name}
    places = (*map(str, before), str(ROOT), environ.get("PYTHONPATH", ""))
    compiled = {"PYTHONPYCACHEPREFIX": str(node.directory.parent / "compiled")}
    environ |= image_variables() | compiled | {"PYTHONPATH": os.pathsep.join(places)}
    writing = {name: text for name, text in environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-c", LOADED], env=writing, check=True, timeout=60)
    command = [sys.executable, "-m", "agent", "--settings", str(node.settings(extender))]
    with (
        node.log.open("w") as log,
        subprocess.Popen(command, env=environ, stdout=log, stderr=log) as process,
    ):
        try:
            yield psutil.Process(process.pid)
            process.terminate()
            assert process.wait(60) == 0, node.log.read_text()
        finally:
            process.kill()


def busy(extender: FakeExtender, uid: str, above: int = 0) -> PodReport:
    """The report of a pod that trains above a step on the GPU."""
    report = extender.reports().get(uid)
    assert report is not None
    assert report.problem == "", report.problem
    assert report.progress is not None
    assert report.use is not None
    assert (report.progress.step or 0) > above, report
    assert (report.use.gpu_ratio or 0) >= 0.2, report
    return report


def check_memory(report: PodReport, first: int, shown: Mapping[int, str]) -> None:
    """A pod has the memory that nvidia-smi shows of its processes; in MIG mode it shows none."""
    pids = [first, *(child.pid for child in psutil.Process(first).children(recursive=True))]
    held = [shown[pid] for pid in pids if pid in shown]
    assert report.use is not None
    ours = report.use.gpu_memory_bytes
    assert (ours is None) == (not any(cell.isdigit() for cell in held))
    if ours is not None:
        theirs = sum(int(cell) for cell in held if cell.isdigit()) * 2**20
        assert abs(ours - theirs) <= MEMORY_BYTES, (ours, theirs)


def acked(extender: FakeExtender, uid: str) -> int:
    report = extender.reports()[uid]
    assert report.checkpoint is not None
    assert report.checkpoint.phase is CheckpointPhase.ACKED, report.checkpoint
    assert report.checkpoint.acked_step is not None
    return report.checkpoint.acked_step


def request(uid: str) -> CheckpointRequest:
    now = SystemClock().now()
    return CheckpointRequest(
        id="r1", uid=uid, deadline=now + 120, hold_deadline=now + 300, reason="test"
    )


async def _moved(node: Node) -> None:
    training = node.training()
    async with fake_extender(node.trust, place("train", uid="pod-1", checkpoint="")) as extender:
        with agent(node, extender) as process:
            lives = await asyncio.to_thread(training.start)
            first = await eventually(lambda: busy(extender, "pod-1", 50), WITHIN_SECONDS)
            shown = {int(row[0]): row[1] for row in smi("compute-apps", "pid,used_memory")}
            note("report of the pod", (first.progress.step, first.progress.total_steps, first.use))
            note("nvidia-smi's processes, and the pod's", (shown, lives[0].pid))
            note("use of the node", extender.heartbeats[-1].use)
            assert first.progress.total_steps == TOTAL
            assert lives[0].pid in shown
            check_memory(first, lives[0].pid, shown)
            node_use = extender.heartbeats[-1].use
            assert node_use is not None
            assert (node_use.gpu_ratio or 0) > 0
            assert (node_use.gpu_memory_bytes or 0) >= (first.use.gpu_memory_bytes or 0) // 2
            extender.commands = (request("pod-1"),)
            step = await eventually(lambda: acked(extender, "pod-1"), WITHIN_SECONDS)
            extender.commands = ()
            await asyncio.to_thread(training.end, lives)
            extender.pods = [place("train", uid="pod-2", checkpoint="")]
            lives = await asyncio.to_thread(training.start)
            second = await eventually(lambda: busy(extender, "pod-2", step), WITHIN_SECONDS)
            note("acknowledged step, and the next pod's", (step, second.progress.step))
            trainer = training.agent.read("trainer.json")
            assert trainer is not None
            assert (trainer["resumed_step"], trainer["pod_uid"]) == (step, "pod-2")
            await asyncio.to_thread(training.finish, lives)
            assert process.is_running()
    assert training.steps() == list(range(TOTAL))
    assert "GPUs: 1 GPU by NVML" in node.described()


def test_a_training_on_the_gpu_is_reported_asked_ended_and_goes_on(tmp_path: Path) -> None:
    asyncio.run(_moved(Node.create(tmp_path)))


async def _settled(node: Node, *before: Path) -> tuple[tuple[int, int], float, FakeExtender]:
    """Return of an agent with one idle pod: memory and the part of its own, in bytes; CPU ratio."""
    async with fake_extender(node.trust, place("train", uid="pod-1", checkpoint="")) as extender:
        with agent(node, extender, *before) as process:
            await eventually(lambda: len(extender.heartbeats) > SETTLED, WITHIN_SECONDS)
            begun, before_seconds = SystemClock().monotonic(), _cpu_seconds(process)
            await eventually(lambda: len(extender.heartbeats) > 2 * SETTLED, WITHIN_SECONDS)
            passed = SystemClock().monotonic() - begun
            used = (_cpu_seconds(process) - before_seconds) / passed
            memory = process.memory_full_info()
            return (memory.rss, memory.uss), used, extender


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def test_without_the_library_the_agent_reports_all_but_gpus(tmp_path: Path) -> None:
    """And what the library costs: memory, and CPU at two samples a second."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "pynvml.py").write_text(WITHOUT_LIBRARY)
    figures = {}
    for name, before in (("with NVML", ()), ("without", (hidden,))):
        node = Node.create(tmp_path / name.replace(" ", "-"))
        memory, used, extender = asyncio.run(_settled(node, *before))
        use = extender.heartbeats[-1].use
        assert use is not None
        figures[name] = (memory, f"{100 * used:.2f} % of a core")
        assert (use.gpu_memory_bytes is None) == bool(before)
        assert use.memory_bytes is not None
        assert ("GPUs: none (" in node.described()) == bool(before)
    note("bytes of the agent, resident and its own, and CPU", figures)
