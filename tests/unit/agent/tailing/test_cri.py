"""Following a container's log directory."""

import os
from pathlib import Path

import pytest

from agent.tailing.chunk import Limits
from agent.tailing.cri import PodLogFollower


def _log(path: Path, *lines: str, tag: str = "F", seconds: int = 0) -> None:
    with path.open("a") as file:
        for line in lines:
            file.write(f"2026-11-21T10:00:{seconds:02}.123456789Z stdout {tag} {line}\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "ns_pod_uid" / "trainer"
    made.mkdir(parents=True)
    return made


def test_lines_come_with_the_times_of_the_runtime(folder: Path) -> None:
    _log(folder / "0.log", "one", "two", seconds=7)
    chunk = PodLogFollower(folder).poll(0.0)
    assert chunk.lines == ("one", "two")
    assert chunk.times == (pytest.approx(1795255207.123456),) * 2
    assert chunk.backlog


def test_a_directory_that_appears_later_is_new(tmp_path: Path) -> None:
    folder = tmp_path / "trainer"
    follower = PodLogFollower(folder)
    assert follower.poll(0.0).problem == ""
    folder.mkdir()
    assert follower.poll(1.0).lines == ()
    _log(folder / "0.log", "one")
    chunk = follower.poll(2.0)
    assert (chunk.lines, chunk.backlog) == (("one",), False)


def test_a_rotated_log_is_read_to_its_end_first_and_parts_go_on(folder: Path) -> None:
    follower = PodLogFollower(folder)
    _log(folder / "0.log", "one")
    assert follower.poll(0.0).lines == ("one",)
    _log(folder / "0.log", "two")
    _log(folder / "0.log", "three ", tag="P")
    (folder / "0.log").rename(folder / "0.log.20261121-100000")
    _log(folder / "0.log", "goes on", "four")
    assert follower.poll(1.0).lines == ("two",)
    chunk = follower.poll(2.0)
    assert (chunk.lines, chunk.rotated) == (("three goes on", "four"), True)
    assert chunk.dropped_bytes == 0


def test_a_restarted_container_goes_on_in_the_next_file(folder: Path) -> None:
    follower = PodLogFollower(folder)
    _log(folder / "0.log", "one")
    follower.poll(0.0)
    _log(folder / "0.log", "last words")
    _log(folder / "0.log", "never finished", tag="P")
    _log(folder / "1.log", "again")
    assert follower.poll(1.0).lines == ("last words",)
    chunk = follower.poll(2.0)
    assert (chunk.lines, chunk.rotated, chunk.backlog) == (("again",), True, False)
    assert chunk.dropped_bytes == len("never finished")


def test_at_its_start_it_reads_the_current_file_and_the_one_before(folder: Path) -> None:
    _log(folder / "0.log", "a life before")
    _log(folder / "1.log.20261121-100000", "packed away soon")
    (folder / "1.log.20261121-090000.gz").write_bytes(b"\x1f\x8b")
    _log(folder / "1.log.20261121-100001", "end of a line that began before", "one")
    _log(folder / "1.log", "two")
    follower = PodLogFollower(folder)
    read = [line for i in range(4) for line in follower.poll(float(i)).lines]
    assert read == ["one", "two"]


def test_tenth_restart_comes_after_the_ninth(folder: Path) -> None:
    for restart in (9, 10, 8):
        _log(folder / f"{restart}.log", str(restart))
    follower = PodLogFollower(folder)
    read = [line for i in range(3) for line in follower.poll(float(i)).lines]
    assert read == ["9", "10"]


def test_a_follower_that_begins_at_the_end_gets_only_appended_lines(folder: Path) -> None:
    _log(folder / "0.log", "old")
    follower = PodLogFollower(folder, from_start=False)
    assert follower.poll(0.0).lines == ()
    _log(folder / "0.log", "new")
    _log(folder / "1.log", "newer")
    read = [line for i in range(3) for line in follower.poll(float(i)).lines]
    assert read == ["new", "newer"]


def test_a_huge_log_is_read_from_near_its_end(folder: Path) -> None:
    _log(folder / "0.log", *(f"line {i}" for i in range(1000)))
    limits = Limits(from_start_bytes=500, head_bytes=100)
    follower = PodLogFollower(folder, limits=limits)
    first, second = follower.poll(0.0), follower.poll(1.0)
    assert first.lines == ("line 0", "line 1")
    assert second.lines[-1] == "line 999"
    assert len(second.lines) == 9
    assert first.dropped_bytes > 40_000


def test_other_files_of_the_directory_are_left_alone(folder: Path) -> None:
    (folder / "0.log.swp").write_text("x")
    (folder / "notes").write_text("x")
    (folder / "x.log").write_text("x")
    assert PodLogFollower(folder).poll(0.0).lines == ()


def test_a_link_in_place_of_a_log_is_refused_in_words(folder: Path) -> None:
    (folder / "0.log").symlink_to("/etc/passwd")
    chunk = PodLogFollower(folder).poll(0.0)
    assert "is a link" in chunk.problem


def test_the_directory_is_listed_only_when_it_changes(folder: Path) -> None:
    _log(folder / "0.log", "one")
    os.utime(folder, ns=(1, 1))
    follower = PodLogFollower(folder)
    follower.poll(0.0)
    follower.poll(1.0)
    listed = follower._names
    for i in range(3):
        follower.poll(2.0 + i)
    assert follower._names is listed
    _log(folder / "1.log", "two")
    assert follower.poll(9.0).lines == ("two",)
    assert follower.is_open
    follower.close()
    assert not follower.is_open


def test_a_path_that_is_no_directory_is_reported(tmp_path: Path) -> None:
    (tmp_path / "trainer").write_text("x")
    assert (
        "a part that is a link or not a directory"
        in PodLogFollower(tmp_path / "trainer").poll(0.0).problem
    )


def test_a_file_made_in_the_moment_of_the_listing_is_seen_by_the_next(folder: Path) -> None:
    _log(folder / "0.log", "one")
    os.utime(folder, ns=(1, 1))
    follower = PodLogFollower(folder)
    assert follower.poll(0.0).lines == ("one",)
    _log(folder / "1.log", "two")
    os.utime(folder, ns=(1, 1))
    assert follower.poll(1.0).lines == ("two",)
