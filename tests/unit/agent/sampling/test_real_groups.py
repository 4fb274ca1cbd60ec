"""Real control groups of this machine, where it lets us make some below its root."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic

import psutil
import pytest

from agent.sampling.cgroups import Version1, Version2, hierarchies
from agent.sampling.finding import DEFAULT_CGROUP_ROOT as ROOT
from agent.sampling.kernel_files import OpenFiles
from agent.sampling.pods import PodSampler
from shared.model import Uid
from shared.progress import Use
from tests.unit.agent.sampling.trees import UID
from tests.unit.processor_time import cpu_seconds

CPU_SECONDS = 0.4
MEMORY_BYTES = 64 * 2**20
PROGRAM = f"""
import sys, time
held = b"x" * {MEMORY_BYTES}
print("ready", flush=True)
wanted = float(sys.stdin.readline())
begun = time.process_time()
while time.process_time() - begun < wanted: pass
print("burnt", flush=True)
sys.stdin.read()
"""
OWN = f"shuntyard-test-{os.getpid()}"


@contextmanager
def group(parent: Path) -> Iterator[Path]:
    """A group for the pod, as a process node makes it; skips where that is not allowed."""
    place = parent / OWN / f"pod{UID}"
    try:
        place.mkdir(parents=True)
    except OSError as error:
        pytest.skip(f"no group can be made below {parent}: {error}")
    try:
        yield place
    finally:
        for directory in (place, place.parent):
            with suppress(OSError):
                directory.rmdir()


@contextmanager
def child(*groups: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in these groups; it holds memory and burns CPU on command."""
    join = "".join(f"echo $$ > {place}/cgroup.procs && " for place in groups)
    with subprocess.Popen(
        ["/bin/sh", "-c", join + 'exec "$0" -c "$1"', sys.executable, PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        try:
            yield process
        finally:
            process.stdin.close()
            process.wait()


def used_seconds(process: subprocess.Popen[str]) -> float:
    """The CPU it has used, once it waits for us: it uses no more before the next command.

    A virtual machine that is not given its processors counts that time as used, so what the
    process meant to use is no measure.
    """
    while psutil.Process(process.pid).status() != psutil.STATUS_SLEEPING:
        assert process.poll() is None, "it has ended"
    return cpu_seconds(process.pid)


def burn(
    sampler: PodSampler, process: subprocess.Popen[str], wanted_seconds: float = CPU_SECONDS
) -> tuple[Use, float]:
    """Sample before and after the process has burnt its CPU; return the second, and the cores."""
    assert process.stdin
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    before, begun = used_seconds(process), monotonic()
    first = sampler.sample([Uid(UID)], begun)
    assert first[Uid(UID)].cpu_cores is None
    process.stdin.write(f"{wanted_seconds}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "burnt\n"
    used, ended = used_seconds(process) - before, monotonic()
    assert used >= wanted_seconds * 0.9
    return sampler.sample([Uid(UID)], ended)[Uid(UID)], used / (ended - begun)


def below(mounted: Mapping[str, Path], *controllers: str) -> Mapping[str, Path]:
    missing = set(controllers).difference(mounted)
    if missing:
        pytest.skip(f"this machine has no version 1 of {', '.join(sorted(missing))}")
    return {one: mounted[one] for one in controllers}


def test_version_1_measures_a_real_process() -> None:
    mounted = below(hierarchies(ROOT), "cpu", "cpuacct", "memory")
    sampler = PodSampler([Version1(mounted, OpenFiles())])
    with ExitStack() as stack:
        places = {stack.enter_context(group(one)) for one in dict.fromkeys(mounted.values())}
        use, cores = burn(sampler, stack.enter_context(child(*places)))
    sampler.close()
    assert use.cpu_cores == pytest.approx(cores, rel=0.15)
    assert MEMORY_BYTES * 0.9 < (use.memory_bytes or 0) < MEMORY_BYTES * 1.5
    assert use.throttled_ratio == 0.0


def test_version_1_shows_how_often_a_quota_stops_a_process() -> None:
    """In a group made for the quota alone: CPU and memory come from its processes."""
    mounted = below(hierarchies(ROOT), "cpu", "cpuacct", "memory")
    sampler = PodSampler([Version1(mounted, OpenFiles())])
    with group(mounted["cpu"]) as place, child(place) as process:
        # So little that others of the machine do not keep it from using it up.
        (place / "cpu.cfs_period_us").write_text("20000")
        (place / "cpu.cfs_quota_us").write_text("2000")
        use, cores = burn(sampler, process, CPU_SECONDS / 2)
        counts = dict(line.split() for line in (place / "cpu.stat").read_text().splitlines())
    sampler.close()
    assert use.cpu_cores == pytest.approx(cores, rel=0.15)
    assert cores < 0.13
    # How often that is, is the machine's to say: where others take the CPU, no quota is used up.
    ratio = int(counts["nr_throttled"]) / int(counts["nr_periods"])
    assert use.throttled_ratio == pytest.approx(ratio, abs=0.1)
    assert MEMORY_BYTES * 0.9 < (use.memory_bytes or 0) < MEMORY_BYTES * 1.5


def test_version_1_opens_a_group_anew_that_was_made_anew() -> None:
    mounted = below(hierarchies(ROOT), "cpuacct")
    source = Version1(mounted, OpenFiles())
    with group(mounted["cpuacct"]) as place:
        with child(place) as process:
            burn(PodSampler([source]), process)
            before = source.read({Uid(UID)}, 10.0)[Uid(UID)]
        place.rmdir()
        place.mkdir()
        after = source.read({Uid(UID)}, 11.0)[Uid(UID)]
    source.close()
    assert (before.cpu_seconds or 0) >= CPU_SECONDS
    assert after.cpu_seconds == 0


def test_version_2_measures_the_cpu_of_a_real_process() -> None:
    """Also below a hybrid machine's unified hierarchy, which counts CPU and pressure at least."""
    root = next(
        (one for one in (ROOT, ROOT / "unified") if (one / "cgroup.controllers").exists()), None
    )
    if root is None:
        pytest.skip("this machine has no cgroup v2")
    sampler = PodSampler([Version2(root, OpenFiles())])
    with group(root) as place, child(place) as process:
        use, cores = burn(sampler, process)
        assert sampler.sample([Uid(UID)], monotonic())
    sampler.close()
    assert use.cpu_cores == pytest.approx(cores, rel=0.15)
    assert MEMORY_BYTES * 0.9 < (use.memory_bytes or 0) < MEMORY_BYTES * 1.5
    if (place.parents[1] / "cpu.pressure").exists():
        assert 0 <= (use.cpu_pressure_ratio or 0) <= 1
