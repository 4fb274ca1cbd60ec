"""The node as a whole."""

import os
from pathlib import Path

import psutil
import pytest

from agent.sampling.node import NodeSampler
from shared.progress import Use

STAT = "cpu  {user} 0 0 {idle} {iowait} 0 0 {steal} 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n"
MEMORY = "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\nBuffers: 0 kB\nCached: 9 kB\n"


@pytest.fixture(autouse=True)
def _procfs_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "PROCFS_PATH", psutil.PROCFS_PATH)


@pytest.fixture
def procfs(tmp_path: Path) -> Path:
    (tmp_path / "pressure").mkdir()
    (tmp_path / "pressure/cpu").write_text("some avg10=50.00 avg60=0.00 avg300=0.00 total=1\n")
    memory = MEMORY + "Active: 1 kB\nInactive: 1 kB\nShmem: 1 kB\nSlab: 1 kB\nSReclaimable: 0 kB\n"
    (tmp_path / "meminfo").write_text(memory)
    (tmp_path / "cpuinfo").write_text("")
    set_times(tmp_path, user=0, idle=0)
    return tmp_path


def set_times(procfs: Path, *, user: int, idle: int, iowait: int = 0, steal: int = 0) -> None:
    text = STAT.format(user=user, idle=idle, iowait=iowait, steal=steal)
    (procfs / "stat").write_text(text)


def test_the_hosts_proc_is_read_at_its_mount(procfs: Path) -> None:
    sampler = NodeSampler(procfs=procfs)
    first, _ = sampler.sample(10.0)
    ticks = os.sysconf("SC_CLK_TCK")
    set_times(procfs, user=3 * ticks, idle=ticks, iowait=ticks, steal=ticks)
    second, _ = sampler.sample(12.0)
    assert first.cpu_cores is None
    assert second.cpu_cores == pytest.approx(1.5)
    assert (second.memory_bytes, second.cpu_pressure_ratio) == (600 * 1024, 0.5)


def test_pressure_that_the_kernel_does_not_have_is_missing(procfs: Path) -> None:
    (procfs / "pressure/cpu").unlink()
    assert NodeSampler(procfs=procfs).sample(0.0)[0].cpu_pressure_ratio is None


def test_this_machine_is_read() -> None:
    sampler = NodeSampler()
    use, cores = sampler.sample(0.0)
    assert cores == psutil.cpu_count()
    assert 2**20 < (use.memory_bytes or 0) < psutil.virtual_memory().total


BUDGETS: dict[str, tuple[list[Use], Use]] = {
    "the sum of its pods": (
        [Use(cpu_cores=0.1, memory_bytes=5), Use(cpu_cores=0.2, memory_bytes=7)],
        Use(cpu_cores=pytest.approx(0.3), memory_bytes=12),
    ),
    "those without a rate yet are left out": ([Use(memory_bytes=5)], Use(memory_bytes=5)),
    "no pods": ([], Use()),
}


@pytest.mark.parametrize(("pods", "wanted"), BUDGETS.values(), ids=BUDGETS)
def test_a_node_with_a_budget_is_the_sum_of_its_pods(pods: list[Use], wanted: Use) -> None:
    use, cores = NodeSampler(cores_override=0.25).sample(0.0, pods)
    assert (use, cores) == (wanted, 0.25)
