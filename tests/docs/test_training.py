"""The example jobs really train: the loss falls, the exit code is honest."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from devcluster.local.ports import free_ports
from tests.docs.pages import ROOT

SCRIPTS = ROOT / "examples/training"
MOST_SECONDS = 60.0
Process = subprocess.Popen[str]


@contextmanager
def running(script: str, members: list[Mapping[str, str]]) -> Iterator[list[Process]]:
    base = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "STEP_SECONDS": "0"}
    command = [sys.executable, str(SCRIPTS / script)]
    processes = [
        subprocess.Popen(command, env={**base, **env}, stdout=subprocess.PIPE, text=True)
        for env in members
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def losses(output: str) -> list[float]:
    return [float(line.split("loss=")[1]) for line in output.splitlines() if "loss=" in line]


def ends(processes: list[Process]) -> list[str]:
    outputs = [process.communicate(timeout=MOST_SECONDS)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return outputs


def test_a_single_job_learns_and_writes_its_metrics(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    with running("single.py", [{"STEPS": "40", "SHUNTYARD_METRICS_FILE": str(file)}]) as processes:
        printed = losses(ends(processes)[0])
    written = [json.loads(line) for line in file.read_text().splitlines()]
    assert printed[-1] < printed[0] / 2
    assert [line["step"] for line in written] == list(range(1, 41))
    assert [line["loss"] for line in written] == pytest.approx(printed, abs=1e-4)
    assert all(set(line) == {"step", "total_steps", "loss", "time"} for line in written)


def test_a_terminated_single_job_resumes_at_its_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    env = {
        "STEPS": "60",
        "STEP_SECONDS": "0.5",
        "SHUNTYARD_METRICS_FILE": str(file),
        "SHUNTYARD_CHECKPOINT_DIR": str(tmp_path / "checkpoints"),
    }
    with running("single.py", [env]) as (process,):
        assert process.stdout is not None
        while "step=3" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(MOST_SECONDS) == 143
    with running("single.py", [{**env, "STEP_SECONDS": "0"}]) as processes:
        ends(processes)
    written = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["step"] for line in written] == list(range(1, 61))


def test_parameter_servers_and_workers_learn_together_and_repeat_exactly() -> None:
    def run() -> list[list[float]]:
        base = {"STEPS": "20", "WORKERS": "2", "PS_HOSTS": "127.0.0.31,127.0.0.32"}
        base["PORT"] = str(free_ports(1)[0])
        ps = [
            {**base, "ROLE": "ps", "INDEX": str(i), "POD_IP": f"127.0.0.3{i + 1}"} for i in (0, 1)
        ]
        workers = [{**base, "ROLE": "worker", "INDEX": str(i)} for i in (0, 1)]
        with running("parameter_server.py", [*workers, *ps]) as processes:
            return [losses(output) for output in ends(processes)[:2]]

    first = run()
    assert all(worker[-1] < worker[0] / 2 and len(worker) == 20 for worker in first)
    assert run() == first


def test_ranks_reduce_through_rank_0() -> None:
    base = {
        "STEPS": "20",
        "WORLD_SIZE": "3",
        "ROOT_HOST": "127.0.0.33",
        "PORT": str(free_ports(1)[0]),
    }
    members = [{**base, "RANK": str(rank), "POD_IP": "127.0.0.33"} for rank in (2, 1, 0)]
    with running("data_parallel.py", members) as processes:
        curves = [losses(output) for output in ends(processes)]
    assert all(curve[-1] < curve[0] / 2 for curve in curves)


WAITING = {
    "single": ("single.py", {"STEPS": "100000", "STEP_SECONDS": "0.01"}),
    "ps without workers": ("parameter_server.py", {"ROLE": "ps", "POD_IP": "127.0.0.34"}),
    "worker without a ps": ("parameter_server.py", {"PS_HOSTS": "127.0.0.35"}),
    "rank 0 without the others": ("data_parallel.py", {"WORLD_SIZE": "2", "POD_IP": "127.0.0.36"}),
}


@pytest.mark.parametrize(("script", "env"), WAITING.values(), ids=WAITING)
def test_sigterm_ends_a_member_with_143(script: str, env: dict[str, str]) -> None:
    env = {**env, "PORT": str(free_ports(1)[0])}
    with running(script, [env]) as (process,):
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(MOST_SECONDS) == 143
