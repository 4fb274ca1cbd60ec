"""The elastic example: workers come and leave, and the losses are those of a single worker."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from devcluster.local.ports import free_ports
from shared.system_clock import SystemClock
from tests.docs.pages import ROOT
from tests.unit.trainer.processes import wait_for

PROGRAM = ROOT / "examples/training/elastic.py"
MOST_SECONDS = 60.0
MEASURED_STEPS = 15
"""Of which the quickest counts: others of the machine only make a step longer."""
STEPS = 240
"""Enough for workers that come late on a busy machine to find it running."""
FLOAT_NOISE = 1e-9
PACE = {"COMPUTE_SECONDS": "0.04", "FIXED_SECONDS": "0.02", "EXCHANGE_SECONDS": "0"}
Line = dict[str, float]


@dataclass
class Training:
    """The pods of one job, each a process; what it writes is in a directory."""

    directory: Path
    address: str
    port: int = field(default_factory=lambda: free_ports(1)[0])
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def begin(self, rank: int, **more: str) -> subprocess.Popen[bytes]:
        settings = {
            "INDEX": str(rank),
            "POD_IP": self.address,
            "ROOT_HOST": self.address,
            "PORT": str(self.port),
            "STEPS": str(STEPS),
            "POLL_SECONDS": "0.05",
            "OPENBLAS_NUM_THREADS": "1",
            "SHUNTYARD_CHECKPOINT_DIR": str(self.directory / "checkpoints"),
            "SHUNTYARD_METRICS_FILE": str(self.directory / "metrics.jsonl"),
            "SHUNTYARD_POD_UID": f"uid-{rank}",
        }
        environment = {**os.environ, **settings, **PACE, **more}
        process = subprocess.Popen([sys.executable, str(PROGRAM)], env=environment)
        self.processes.append(process)
        return process

    def lines(self) -> list[Line]:
        """The output of rank 0: a line for each step."""
        file = self.directory / "metrics.jsonl"
        written = file.read_bytes().splitlines(keepends=True) if file.exists() else []
        return [json.loads(line) for line in written if line.endswith(b"\n")]

    def until(self, check: Callable[[Line], bool], what: str) -> Line:
        """Wait for a step from now on; rank 0 tells of one every few milliseconds."""
        seen, deadline = len(self.lines()), time.monotonic() + MOST_SECONDS
        while time.monotonic() < deadline:
            if found := next(filter(check, self.lines()[seen:]), None):
                return found
            time.sleep(0.01)
        raise AssertionError(f"no step {what}: {self.lines()[-3:]}")

    def until_workers(self, count: int) -> Line:
        return self.until(lambda line: line["workers"] == count, f"with {count} workers")

    def ask(self, **more: object) -> None:
        """Write what the agent writes."""
        folder, now = self.directory / "checkpoints/.shuntyard", SystemClock().now()
        request = {"version": 1, "id": "shrink", "pod_uid": "uid-0", "action": "checkpoint"}
        request |= {"deadline": now + 60, "hold_deadline": now + 60, "reason": "", **more}
        temporary = folder / "request.tmp"
        temporary.write_text(json.dumps(request))
        temporary.replace(folder / "request.json")

    def until_file(self, name: str) -> None:
        file, deadline = (
            self.directory / "checkpoints/.shuntyard" / name,
            time.monotonic() + MOST_SECONDS,
        )
        while not file.exists():
            assert time.monotonic() < deadline, name
            time.sleep(0.01)

    def losses(self) -> list[float]:
        return [line["loss"] for line in self.lines()]


@contextmanager
def training(directory: Path, address: str) -> Iterator[Training]:
    made = Training(directory, address)
    try:
        yield made
    finally:
        for process in made.processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """The losses of one worker, from the beginning to the end."""
    with training(tmp_path_factory.mktemp("unchanged"), "127.0.0.51") as alone:
        assert alone.begin(0, COMPUTE_SECONDS="0", FIXED_SECONDS="0").wait(MOST_SECONDS) == 0
        assert {line["workers"] for line in alone.lines()} == {1}
        return alone.losses()


def test_workers_come_and_leave_and_the_losses_stay_the_same(
    tmp_path: Path, unchanged: list[float]
) -> None:
    with training(tmp_path, "127.0.0.52") as elastic:
        ranks = [elastic.begin(rank) for rank in (0, 1)]
        elastic.until_workers(2)
        ranks += [elastic.begin(rank) for rank in (2, 3)]
        elastic.until_workers(4)
        elastic.ask()
        elastic.until_file("ack-shrink.json")
        held = len(elastic.lines())
        for process in ranks[1:]:
            process.send_signal(signal.SIGTERM)
            assert process.wait(MOST_SECONDS) == 143
        assert len(elastic.lines()) == held
        elastic.ask(action="cancel")
        elastic.until_workers(1)
        first = elastic.lines()[held]
        assert (first["step"], first["workers"]) == (held + 1, 1)
        assert ranks[0].wait(MOST_SECONDS) == 0
        assert elastic.losses() == pytest.approx(unchanged, abs=FLOAT_NOISE)
        assert unchanged[-1] < unchanged[0] / 2


def test_a_killed_worker_is_compensated_and_may_come_again(
    tmp_path: Path, unchanged: list[float]
) -> None:
    with training(tmp_path, "127.0.0.53") as elastic:
        root, lost = elastic.begin(0), elastic.begin(1)
        elastic.until_workers(2)
        lost.kill()
        elastic.until_workers(1)
        again = elastic.begin(1)
        elastic.until_workers(2)
        assert (root.wait(MOST_SECONDS), again.wait(MOST_SECONDS)) == (0, 0)
        assert elastic.losses() == pytest.approx(unchanged, abs=FLOAT_NOISE)


def test_a_restarted_rank_0_resumes_and_admits_waiting_workers(
    tmp_path: Path, unchanged: list[float]
) -> None:
    with training(tmp_path, "127.0.0.54") as elastic:
        root, other = elastic.begin(0), elastic.begin(1)
        elastic.until_workers(2)
        root.send_signal(signal.SIGTERM)
        assert root.wait(MOST_SECONDS) == 143
        assert other.poll() is None
        again = elastic.begin(0)
        elastic.until_workers(2)
        assert (again.wait(MOST_SECONDS), other.wait(MOST_SECONDS)) == (0, 0)
        assert [line["step"] for line in elastic.lines()] == list(range(1, STEPS + 1))
        assert elastic.losses() == pytest.approx(unchanged, abs=FLOAT_NOISE)


def test_a_step_takes_the_declared_time_for_the_number_of_workers(tmp_path: Path) -> None:
    pace = {"COMPUTE_SECONDS": "0.2", "FIXED_SECONDS": "0.02", "STEPS": "5000"}
    with training(tmp_path, "127.0.0.55") as elastic:
        elastic.begin(0, **pace)
        elastic.until_workers(1)
        elastic.begin(1, **pace)
        elastic.until_workers(2)
        wait_for(lambda: sum(line["workers"] == 2 for line in elastic.lines()) > MEASURED_STEPS)
        lines = elastic.lines()
    taken: dict[float, list[float]] = {1: [], 2: []}
    for before, after in pairwise(lines):
        taken[after["workers"]].append(after["time"] - before["time"])
    assert min(taken[1]) >= 0.22
    assert 0.12 <= min(taken[2]) < 0.22
