"""A training of a framework as the pods of one job: lives follow each other in one directory."""

from __future__ import annotations

import importlib.util
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.unit.trainer import processes
from tests.unit.trainer.agent import Agent

PROGRAMS = Path(__file__).parent / "programs"
WITHIN_SECONDS = 240.0


FRAMEWORKS = ("torch", "lightning", "keras", "jax", "transformers", "deepspeed", "torchtitan")


def skip_without_any() -> None:
    """Skip a whole module in one line where no framework is installed."""
    if not any(importlib.util.find_spec(name) for name in FRAMEWORKS):
        why = "no framework is installed here: `make test-frameworks` runs these"
        pytest.skip(why, allow_module_level=True)


def needs(*packages: str, gpu: bool = False) -> pytest.MarkDecorator:
    """Skip where a framework or a GPU is missing, and say what to do."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing or not gpu:
        why = f"{', '.join(missing)} not installed here: `make test-frameworks` runs it"
        return pytest.mark.skipif(bool(missing), reason=why)
    return pytest.mark.skipif(not _has_gpu(), reason="no GPU that PyTorch can use")


def _has_gpu() -> bool:
    torch = importlib.import_module("torch")
    return bool(torch.cuda.is_available())


class Training:
    """One job.

    Args:
        directory: Of this test.
        program: One of ``programs``.
        total: Steps of the whole run.
        world_size: Processes; torchrun-like variables are set if above 1.
    """

    def __init__(
        self, directory: Path, program: str, total: int, world_size: int = 1, **variables: str
    ) -> None:
        self.directory = directory
        self.checkpoints = directory / "checkpoints"
        self.agent = Agent(self.checkpoints)
        self.world_size = world_size
        self._program = PROGRAMS / f"{program}.py"
        self._life = 0
        self._variables = {
            "TOTAL_STEPS": str(total),
            "STEPS_LOG": str(directory / "steps"),
            "SHUNTYARD_CHECKPOINT_DIR": str(self.checkpoints),
            "SHUNTYARD_METRICS_FILE": str(directory / "metrics.jsonl"),
            "PYTHONWARNINGS": "ignore",
            "OMP_NUM_THREADS": "1",
            **variables,
        }

    @property
    def pod(self) -> str:
        """The uid of the pod of this life."""
        return f"pod-{self._life}"

    def start(self) -> list[subprocess.Popen[str]]:
        """Begin a new life in a new pod."""
        self._life += 1
        variables = {**self._variables, "SHUNTYARD_POD_UID": self.pod}
        if self.world_size == 1:
            return [processes.start(self._program, **variables)]
        ranks = {
            "WORLD_SIZE": str(self.world_size),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(_free_port()),
        }
        return [
            processes.start(
                self._program, **variables, **ranks, RANK=str(rank), LOCAL_RANK=str(rank)
            )
            for rank in range(self.world_size)
        ]

    def steps(self, rank: int = 0) -> list[int]:
        """Return the steps that were done, in all lives."""
        path = self.directory / f"steps.{rank}"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def wait_for_steps(self, count: int, lives: list[subprocess.Popen[str]]) -> None:
        """Wait until so many steps are done; a process that ends before is a failure."""
        processes.wait_for(lambda: len(self.steps()) >= count or _over(lives), WITHIN_SECONDS)
        assert not _over(lives), [processes.finish(life)[1] for life in lives]

    def ask(self, lives: list[subprocess.Popen[str]]) -> int:
        """Ask for a checkpoint and return the step of the answer."""
        request = f"r{self._life}"
        self.agent.ask_now(request, pod_uid=self.pod)
        name = f"ack-{request}.json"
        processes.wait_for(lambda: self.agent.read(name) or _over(lives), WITHIN_SECONDS)
        answer = self.agent.read(name)
        assert answer is not None, [processes.finish(life)[1] for life in lives]
        assert answer["ok"], answer
        assert (self.checkpoints / answer["path"]).exists()
        return int(answer["step"])

    def end(self, lives: list[subprocess.Popen[str]]) -> None:
        """SIGTERM, as Kubernetes sends it; all end with 143."""
        for life in lives:
            life.send_signal(signal.SIGTERM)
        results = [processes.finish(life, WITHIN_SECONDS) for life in lives]
        assert [code for code, _ in results] == [143] * len(lives), results

    def finish(self, lives: list[subprocess.Popen[str]]) -> str:
        """Wait for the end of the run and return what rank 0 printed."""
        results = [processes.finish(life, WITHIN_SECONDS) for life in lives]
        assert [code for code, _ in results] == [0] * len(lives), results
        assert self.agent.read("done.json")
        return results[0][1]


def _over(lives: list[subprocess.Popen[str]]) -> bool:
    return any(life.poll() is not None for life in lives)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
