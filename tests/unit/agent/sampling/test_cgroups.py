"""Both versions of control groups, by trees of ordinary files."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.sampling import cgroups, pod_groups
from agent.sampling.cgroups import Version1, Version2
from agent.sampling.kernel_files import OpenFiles
from agent.sampling.readings import PodSource, Reading
from shared.model import Uid
from tests.unit.agent.sampling.trees import (
    OTHER,
    SHAPES,
    UID,
    container_of,
    empty_version1,
    empty_version2,
    path_of,
    set_version1,
    set_version2,
)

PLAIN = "containerd with cgroupfs, Burstable"


@pytest.fixture
def root2(tmp_path: Path) -> Path:
    return empty_version2(tmp_path / "two")


@pytest.fixture
def root1(tmp_path: Path) -> Path:
    return empty_version1(tmp_path / "one")


def source1(root: Path, files: OpenFiles | None = None) -> Version1:
    return Version1(cgroups.hierarchies(root), files or OpenFiles())


def read(source: PodSource, now: float = 0.0, uid: str = UID) -> Reading | None:
    return source.read({Uid(uid)}, now).get(Uid(uid))


@pytest.mark.parametrize("shape", SHAPES)
def test_version_2_reads_every_drivers_pods(root2: Path, shape: str) -> None:
    for uid, factor in ((UID, 1), (OTHER, 100)):
        place, container = path_of(shape, uid), container_of(shape, uid)
        set_version2(root2 / container, periods=20 * factor, throttled=5)
        set_version2(
            root2 / place,
            cpu_seconds=1.5 * factor,
            memory_bytes=1000 * factor,
            inactive_bytes=300,
            periods=10,
            throttled=1,
            pressure_percent=25.0,
        )
    reading = read(Version2(root2, OpenFiles()))
    assert reading is not None
    assert reading.cpu_seconds == pytest.approx(1.5)
    assert (reading.memory_bytes, reading.pressure_ratio) == (700, 0.25)
    groups = {str(root2 / path_of(shape, UID)), str(root2 / container_of(shape, UID))}
    assert set(reading.throttling) == groups
    assert sum(one.periods for one in reading.throttling.values()) in {10, 30}


@pytest.mark.parametrize("shape", SHAPES)
def test_version_1_reads_every_drivers_pods(root1: Path, shape: str) -> None:
    for uid, factor in ((UID, 1), (OTHER, 100)):
        set_version1(root1, container_of(shape, uid), periods=20, throttled=5)
        set_version1(
            root1,
            path_of(shape, uid),
            cpu_seconds=1.5 * factor,
            memory_bytes=1000 * factor,
            inactive_bytes=300,
        )
    reading = read(source1(root1))
    assert reading is not None
    assert reading.cpu_seconds == pytest.approx(1.5)
    assert (reading.memory_bytes, reading.pressure_ratio) == (700, None)


SOURCES: dict[str, Callable[[Path, OpenFiles], tuple[PodSource, Path]]] = {
    "version 1": lambda path, files: (
        source1(empty_version1(path / "root"), files),
        path / "root/cpu,cpuacct",
    ),
    "version 2": lambda path, files: (
        Version2(empty_version2(path / "root"), files),
        path / "root",
    ),
}


def fill(root: Path, uid: str = UID, **amounts: float) -> None:
    """Set the group of a pod, whichever version it is."""
    path = path_of(PLAIN, uid)
    if (root / "cgroup.controllers").exists():
        set_version2(root / path, **amounts)
    else:
        set_version1(root.parent, path, **amounts)


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
class TestBoth:
    """What both versions have in common."""

    def test_the_next_reading_shows_what_changed(self, tmp_path: Path, make) -> None:
        source, root = make(tmp_path, OpenFiles())
        seen = []
        for seconds in (1, 2, 3):
            fill(root, cpu_seconds=seconds)
            reading = read(source, float(seconds))
            seen.append(reading and reading.cpu_seconds)
        assert seen == pytest.approx([1, 2, 3])

    def test_files_stay_open_until_the_pod_is_asked_for_no_more(self, tmp_path, make) -> None:
        files = OpenFiles()
        source, root = make(tmp_path, files)
        fill(root)
        read(source)
        opened = files.kept
        read(source)
        assert opened == files.kept > 0
        source.read(frozenset(), 2.0)
        assert files.kept == 0

    def test_beyond_the_bound_files_are_read_and_closed(self, tmp_path, make) -> None:
        files = OpenFiles(most=2)
        source, root = make(tmp_path, files)
        for uid in (UID, OTHER):
            fill(root, uid, cpu_seconds=4, memory_bytes=9)
        readings = source.read({Uid(UID), Uid(OTHER)}, 0.0)
        assert [one.memory_bytes for one in readings.values()] == [9, 9]
        assert files.kept == 2

    def test_a_pod_whose_group_goes_is_gone_and_comes_back(self, tmp_path, make) -> None:
        files = OpenFiles()
        source, root = make(tmp_path, files)
        fill(root, cpu_seconds=5)
        assert read(source) is not None
        for path in root.parent.rglob(path_of(PLAIN, UID)):
            shutil.rmtree(path)
        files.close()  # the kernel would say ENODEV
        assert read(source, 1.0) is None
        fill(root, cpu_seconds=1)
        reading = read(source, 2.0)
        assert reading is not None
        assert reading.cpu_seconds == pytest.approx(1)

    def test_a_group_made_anew_is_opened_anew(self, tmp_path, make, monkeypatch) -> None:
        source, root = make(tmp_path, OpenFiles())
        fill(root, cpu_seconds=5)
        read(source)
        stale = [errno.ENODEV]
        real = os.pread

        def pread(descriptor: int, size: int, offset: int) -> bytes:
            if stale:
                raise OSError(stale.pop(), "stale")
            return real(descriptor, size, offset)

        monkeypatch.setattr(os, "pread", pread)
        fill(root, cpu_seconds=6)
        reading = read(source, 1.0)
        assert reading is not None
        assert (reading.cpu_seconds, stale) == (pytest.approx(6), [])

    def test_containers_are_listed_anew_after_a_while(self, tmp_path, make) -> None:
        source, root = make(tmp_path, OpenFiles())
        fill(root)
        read(source, 0.0)
        shutil.copytree(root / path_of(PLAIN, UID), root / container_of(PLAIN, UID))
        groups = []
        for now in (1.0, pod_groups.LIST_SECONDS):
            reading = read(source, now)
            assert reading is not None
            groups.append(len(reading.throttling))
        assert groups == [1, 2]

    def test_processes_are_those_of_the_pod_and_of_its_containers(self, tmp_path, make) -> None:
        source, root = make(tmp_path, OpenFiles())
        fill(root)
        inner = root / container_of(PLAIN, UID) / "init.scope"
        inner.mkdir(parents=True)
        (root / path_of(PLAIN, UID) / "cgroup.procs").write_text("11\n0\n")
        (inner / "cgroup.procs").write_text("12\n0\n")
        read(source)
        assert source.pids(Uid(UID)) == (11, 12)
        assert source.pids(Uid(OTHER)) == ()

    def test_it_describes_what_it_reads(self, tmp_path, make) -> None:
        source, root = make(tmp_path, OpenFiles())
        assert source.description.endswith(str(root))


def test_what_no_controller_counts_is_added_up_over_processes(root1: Path) -> None:
    """As in a process node's group: made for the quota alone."""
    group = root1 / "cpu,cpuacct" / path_of("a process node", UID)
    group.mkdir(parents=True)
    (group / "cpu.stat").write_text("nr_periods 4\nnr_throttled 3\n")
    (group / "cgroup.procs").write_text(f"{os.getpid()}\n")
    reading = read(source1(root1))
    assert reading is not None
    assert reading.counter == "processes"
    assert (reading.cpu_seconds or 0) > 0
    assert (reading.memory_bytes or 0) > 1024 * 1024
    assert len(reading.throttling) == 1


def test_pressure_that_is_switched_off_is_missing(root2: Path) -> None:
    place = root2 / path_of(PLAIN, UID)
    set_version2(place, cpu_seconds=1)
    (place / "cpu.pressure").unlink()
    reading = read(Version2(root2, OpenFiles()))
    assert reading is not None
    assert (reading.pressure_ratio, reading.cpu_seconds) == (None, 1)
