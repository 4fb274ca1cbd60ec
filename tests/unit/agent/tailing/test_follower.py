"""Following a file by polling, whatever happens to it."""

import os
from pathlib import Path

import pytest

from agent.tailing import follower as follower_module
from agent.tailing.chunk import Limits
from agent.tailing.follower import FileFollower
from tests.unit.agent.tailing.scene import LONG_SECONDS, Scene, open_descriptors

IDLE = Limits(idle_close_seconds=LONG_SECONDS / 2, reopen_seconds=LONG_SECONDS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.log"


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_lines_come_once_when_they_are_complete(path: Path) -> None:
    follower = FileFollower(path)
    assert follower.poll(0.0).lines == ()
    _append(path, "a\nb")
    assert follower.poll(1.0).lines == ("a",)
    assert follower.poll(2.0).lines == ()
    _append(path, "c\n")
    assert follower.poll(3.0).lines == ("bc",)


def test_existing_content_is_backlog(path: Path) -> None:
    _append(path, "old\n")
    follower = FileFollower(path)
    assert follower.poll(0.0).backlog
    _append(path, "new\n")
    assert not follower.poll(1.0).backlog


def test_a_file_that_appears_later_is_new_from_its_first_line(path: Path) -> None:
    for options in ({"from_start": True}, {"from_start": False}):
        follower = FileFollower(path, **options)
        follower.poll(0.0)
        _append(path, "new\n")
        chunk = follower.poll(1.0)
        assert (chunk.lines, chunk.backlog) == (("new",), False)
        path.unlink()


def test_who_begins_at_the_end_gets_only_what_is_appended(path: Path) -> None:
    _append(path, "old\nhalf")
    follower = FileFollower(path, from_start=False)
    assert follower.poll(0.0).lines == ()
    _append(path, " a line\nnew\n")
    chunk = follower.poll(1.0)
    assert chunk.lines == ("new",)
    assert (chunk.dropped_lines, chunk.dropped_bytes) == (1, len(" a line\n"))


def test_of_a_huge_file_the_head_and_the_end_are_read(path: Path) -> None:
    lines = [f"{i:05}" for i in range(10_000)]
    path.write_text("\n".join(lines) + "\n")
    follower = FileFollower(path, limits=Limits(from_start_bytes=1000, head_bytes=100))
    chunk = follower.poll(0.0)
    assert chunk.lines == tuple(lines[:16])
    assert chunk.more
    end = follower.poll(1.0)
    assert end.lines == tuple(lines[-166:])
    assert chunk.backlog
    assert end.backlog
    dropped = chunk.dropped_bytes + end.dropped_bytes
    assert dropped == 6 * (10_000 - 16 - 166)
    _append(path, "new\n")
    assert follower.poll(2.0).lines == ("new",)


def test_of_a_huge_file_without_lines_only_the_end_is_read(path: Path) -> None:
    path.write_bytes(b"x" * 10_000)
    follower = FileFollower(path, limits=Limits(from_start_bytes=1000, head_bytes=100))
    chunks = [follower.poll(float(i)) for i in range(3)]
    assert [c.lines for c in chunks] == [()] * 3
    _append(path, " end\nwhole\n")
    assert follower.poll(9.0).lines == ("whole",)


def test_a_binary_file_is_read_from_its_beginning_however_large(path: Path) -> None:
    data = bytes(range(256)) * 40
    path.write_bytes(data)
    limits = Limits(from_start_bytes=100, bytes_per_poll=3000)
    follower = FileFollower(path, limits=limits, binary=True)
    chunks = [follower.poll(float(i)) for i in range(5)]
    assert b"".join(c.data for c in chunks) == data
    assert [c.more for c in chunks] == [True, True, True, False, False]
    assert all(c.lines == () for c in chunks)


def test_what_goes_beyond_the_limits_comes_with_later_polls(path: Path) -> None:
    path.write_text("".join(f"{i}\n" for i in range(10)))
    by_lines = FileFollower(path, limits=Limits(lines_per_poll=4))
    chunks = [by_lines.poll(float(i)) for i in range(4)]
    assert [len(c.lines) for c in chunks] == [4, 4, 2, 0]
    assert [c.more for c in chunks] == [True, True, False, False]
    by_bytes = FileFollower(path, limits=Limits(bytes_per_poll=7))
    assert [len(by_bytes.poll(float(i)).lines) for i in range(4)] == [3, 4, 3, 0]


def test_a_cut_file_is_read_from_its_beginning(path: Path) -> None:
    _append(path, "one\ntwo\nhalf")
    follower = FileFollower(path)
    follower.poll(0.0)
    path.write_text("three\n")
    chunk = follower.poll(1.0)
    assert (chunk.lines, chunk.truncated, chunk.rotated) == (("three",), True, False)
    assert (chunk.dropped_lines, chunk.dropped_bytes) == (1, 4)
    assert not chunk.backlog


def test_a_file_that_was_cut_and_has_grown_beyond_its_old_size_is_noticed(path: Path) -> None:
    _append(path, "one\n")
    follower = FileFollower(path)
    follower.poll(0.0)
    path.write_text("another first line\nand more\n")
    chunk = follower.poll(1.0)
    assert (chunk.lines, chunk.truncated) == (("another first line", "and more"), True)


def test_a_file_written_anew_with_the_same_beginning_is_noticed_by_what_was_read_last(
    path: Path,
) -> None:
    header = "epoch,step,train_loss\n" * 20
    path.write_text(header + "0,9,3.6\n")
    follower = FileFollower(path)
    follower.poll(0.0)
    path.write_text(header + "0,8,4.7\n0,9,3.6\n")
    chunk = follower.poll(1.0)
    assert chunk.truncated
    assert chunk.lines[-2:] == ("0,8,4.7", "0,9,3.6")


def test_a_file_written_anew_at_the_same_size_is_noticed(path: Path) -> None:
    path.write_text("one\n")
    follower = FileFollower(path)
    follower.poll(0.0)
    path.write_text("two\n")
    os.utime(path, ns=(1, 1))
    assert follower.poll(1.0).lines == ("two",)


def test_a_program_that_writes_on_at_its_old_place_leaves_a_hole_that_is_passed_over(
    path: Path,
) -> None:
    with path.open("w") as writer:
        writer.write("x" * 99_999 + "\n")
        writer.flush()
        follower = FileFollower(path, limits=Limits(line_bytes=10_000))
        follower.poll(0.0)
        os.truncate(path, 0)
        follower.poll(1.0)
        writer.write("a\nb\n")
        writer.flush()
        chunk = follower.poll(2.0)
    assert chunk.lines == ("a", "b")
    assert chunk.dropped_bytes == 0


def test_a_renamed_file_is_read_to_its_end_before_the_new_one(tmp_path: Path) -> None:
    scene = Scene(tmp_path, IDLE)
    scene.write([("before", "\n")])
    scene.rename()
    scene.write([("after", "\n")])
    chunks = [scene.poll() for _ in range(3)]
    assert scene.read == scene.written
    assert [c.rotated for c in chunks] == [False, True, False]


def test_what_is_written_to_the_old_file_while_the_new_one_is_empty_is_read(path: Path) -> None:
    with path.open("w") as writer:
        writer.write("one\n")
        writer.flush()
        follower = FileFollower(path)
        follower.poll(0.0)
        path.rename(path.with_name("metrics.log.1"))
        path.touch()
        assert follower.poll(1.0).lines == ()
        writer.write("two\n")
        writer.flush()
        assert follower.poll(2.0).lines == ("two",)
    _append(path, "three\n")
    assert follower.poll(3.0).lines == ("three",)


def test_the_unfinished_last_line_of_a_file_that_went_is_counted(path: Path) -> None:
    _append(path, "one\nhalf")
    follower = FileFollower(path)
    follower.poll(0.0)
    path.rename(path.with_name("old"))
    _append(path, "new\n")
    chunk = follower.poll(1.0)
    assert (chunk.lines, chunk.rotated) == (("new",), True)
    assert (chunk.dropped_lines, chunk.dropped_bytes) == (1, 4)


def test_a_file_deleted_and_made_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    scene = Scene(tmp_path, IDLE)
    scene.write([("one", "\n")])
    scene.delete()
    scene.poll()
    scene.write([("two", "\n")])
    scene.catch_up()
    assert scene.read == scene.written


def test_a_new_file_on_an_old_inode_is_detected_by_its_content(path: Path) -> None:
    """The inode is only used again when no process has the old file open: written in place here."""
    _append(path, "one\ntwo\n")
    follower = FileFollower(path)
    follower.poll(0.0)
    follower.suspend()
    path.write_text("three\nfour\nfive\n")
    chunk = follower.poll(1.0)
    assert (chunk.lines, chunk.truncated) == (("three", "four", "five"), True)


def test_an_idle_file_is_closed_and_opened_again_when_it_grows(tmp_path: Path) -> None:
    scene = Scene(tmp_path, IDLE)
    scene.write([("one", "\n")])
    scene.stay_idle()
    assert not scene.follower.is_open
    scene.poll()
    assert not scene.follower.is_open
    scene.write([("two", "\n")])
    scene.catch_up()
    assert scene.follower.is_open
    assert scene.read == scene.written


def test_a_closed_file_that_was_renamed_is_found_by_its_inode(tmp_path: Path) -> None:
    scene = Scene(tmp_path, IDLE)
    scene.write([("one", "\n")])
    scene.stay_idle()
    scene.rename()
    scene.write([("two", "\n")])
    scene.catch_up()
    assert scene.read == scene.written


def test_a_closed_file_whose_inode_is_another_file_s_by_now_is_left_alone(path: Path) -> None:
    _append(path, "one\n")
    follower = FileFollower(path)
    follower.poll(0.0)
    follower.suspend()
    other = path.with_name("other")
    path.rename(other)
    other.write_text("not of this log at all\n")
    _append(path, "two\n")
    assert follower.poll(1.0).lines == ("two",)


def test_an_open_file_is_opened_anew_now_and_then(path: Path) -> None:
    _append(path, "one\n")
    follower = FileFollower(path, limits=Limits(reopen_seconds=10.0))
    follower.poll(0.0)
    file = follower._file
    assert file is not None
    first = file._descriptor
    keeper = os.open(path, os.O_RDONLY)  # takes the lowest free number
    follower.poll(5.0)
    assert file._descriptor == first
    follower.poll(10.0)
    assert file._descriptor != first
    os.close(keeper)
    _append(path, "two\n")
    assert follower.poll(11.0).lines == ("two",)


def test_a_link_in_place_of_the_file_is_refused_in_words(path: Path) -> None:
    _append(path, "one\n")
    follower = FileFollower(path)
    follower.poll(0.0)
    path.unlink()
    path.symlink_to("/etc/passwd")
    chunk = follower.poll(1.0)
    assert chunk.lines == ()
    assert "is a link" in chunk.problem
    path.unlink()
    _append(path, "two\n")
    chunk = follower.poll(2.0)
    assert (chunk.lines, chunk.problem) == (("two",), "")


def test_a_link_swapped_into_the_directories_is_refused(tmp_path: Path) -> None:
    inside, outside = tmp_path / "volume" / "job", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir(parents=True)
        (folder / "log").write_text(f"{folder.name}\n")
    follower = FileFollower(inside / "log", root=tmp_path / "volume")
    assert follower.poll(0.0).lines == ("job",)
    inside.rename(tmp_path / "volume" / "was")
    inside.symlink_to(outside)
    chunk = follower.poll(1.0)
    assert chunk.lines == ()
    assert "a part that is a link" in chunk.problem


def test_an_unreadable_file_is_reported_and_read_once_permitted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(root: Path, path: Path) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    _append(path, "one\n")
    follower = FileFollower(path)
    with monkeypatch.context() as patch:
        patch.setattr(follower_module, "open_file", refuse)
        chunk = follower.poll(0.0)
    assert chunk.problem == f"{path} may not be read by the agent (permission denied)"
    assert follower.poll(1.0).lines == ("one",)


def test_a_pipe_in_place_of_the_file_does_not_stop_the_agent(path: Path) -> None:
    os.mkfifo(path)
    assert "not a regular file" in FileFollower(path).poll(0.0).problem


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    before = open_descriptors()
    scene = Scene(tmp_path, IDLE)
    for _ in range(5):
        scene.write([("line", "\n")])
        scene.rename()
        scene.delete()
        scene.truncate()
        scene.poll()
    scene.catch_up()
    scene.follower.close()
    assert open_descriptors() == before


def test_a_file_that_goes_while_we_look_is_no_problem(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(root: Path, path: Path) -> int:
        raise FileNotFoundError(2, "No such file", str(path))

    follower = FileFollower(path, limits=Limits(reopen_seconds=0.0))
    _append(path, "one\n")
    with monkeypatch.context() as patch:
        patch.setattr(follower_module, "open_file", gone)
        assert follower.poll(0.0) == follower.poll(1.0)
    assert follower.poll(2.0).lines == ("one",)
    _append(path, "two\n")
    with monkeypatch.context() as patch:
        patch.setattr(follower_module, "open_file", gone)
        assert follower.poll(3.0).lines == ("two",)
        follower.suspend()
        _append(path, "three\n")
        assert follower.poll(4.0).lines == ()
    assert follower.poll(5.0).lines == ("three",)
    path.rename(path.with_name("old"))
    _append(path, "four\n")
    with monkeypatch.context() as patch:
        patch.setattr(follower_module, "open_file", gone)
        assert follower.poll(6.0).lines == ()
    assert follower.poll(7.0).lines == ("four",)


def test_a_closed_file_that_is_gone_for_good_leaves_nothing_to_read(path: Path) -> None:
    _append(path, "one\n")
    follower = FileFollower(path)
    follower.poll(0.0)
    follower.suspend()
    path.unlink()
    assert [follower.poll(float(i)).lines for i in range(3)] == [()] * 3


def test_a_new_file_that_stays_empty_is_taken_when_the_old_one_is_idle(tmp_path: Path) -> None:
    scene = Scene(tmp_path, IDLE)
    scene.write([("one", "\n")])
    scene.rename()
    scene.stay_idle()
    scene.stay_idle()
    assert not scene.follower.is_open
    scene.rename()
    scene.catch_up()
    assert scene.read == scene.written


def test_the_end_of_a_closed_file_that_was_renamed_is_read_before_there_is_a_new_one(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path, IDLE)
    scene.write([("one", "\n")])
    scene.stay_idle()
    scene.rename_and_make_none()
    scene.catch_up()
    assert scene.read == scene.written
