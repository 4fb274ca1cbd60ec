"""Only regular files below the root are opened, and links nowhere on the way."""

import errno
import os
import socket
from pathlib import Path

import pytest

from agent.tailing.opening import directory, open_by_inode, open_file, problem
from tests.unit.agent.tailing.scene import open_descriptors


def test_a_regular_file_is_opened_for_reading_only(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_text("x")
    descriptor = open_file(tmp_path, tmp_path / "a" / "b" / "file")
    try:
        assert os.read(descriptor, 10) == b"x"
        assert not os.get_inheritable(descriptor)
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.write(descriptor, b"y")
    finally:
        os.close(descriptor)


def _file_link(root: Path) -> Path:
    (root / "link").symlink_to("/etc/hostname")
    return root / "link"


def _folder_link(root: Path) -> Path:
    (root / "real").mkdir()
    (root / "real" / "file").write_text("x")
    (root / "link").symlink_to(root / "real")
    return root / "link" / "file"


def _fifo(root: Path) -> Path:
    os.mkfifo(root / "fifo")
    return root / "fifo"


def _folder(root: Path) -> Path:
    (root / "folder").mkdir()
    return root / "folder"


def _socket(root: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "s"))
    return root / "s"


REFUSED = {
    "a link": (_file_link, "links are not followed"),
    "a link on the way": (_folder_link, "a part that is a link or not a directory"),
    "a named pipe, without waiting for its writer": (_fifo, "not a regular file"),
    "a directory": (_folder, "not a regular file"),
    "a socket": (_socket, "not a regular file"),
    "what is not there": (lambda root: root / "none", "does not exist"),
    "what leads out": (lambda root: root / "a" / ".." / ".." / "x", "permission denied"),
}


@pytest.mark.parametrize(("make", "words"), REFUSED.values(), ids=REFUSED)
def test_everything_else_is_refused_in_words(tmp_path: Path, make, words: str) -> None:
    path = make(tmp_path)
    with pytest.raises(OSError) as caught:  # noqa: PT011 - because the words are looked at below
        os.close(open_file(tmp_path, path))
    assert words in problem(caught.value, path)


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_text("x")
    (tmp_path / "root").symlink_to(tmp_path / "real")
    os.close(open_file(tmp_path / "root", tmp_path / "root" / "file"))


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    before = open_descriptors()
    with pytest.raises(FileNotFoundError):
        open_file(tmp_path, tmp_path / "a" / "none")
    with pytest.raises(OSError, match="a regular file"):
        open_file(tmp_path, tmp_path / "a")
    with directory(tmp_path, tmp_path / "a", listing=True) as descriptor:
        assert os.fstat(descriptor).st_nlink > 0
    assert open_descriptors() == before


def test_an_unknown_error_has_the_message_of_the_system() -> None:
    error = OSError(errno.ESTALE, "Stale file handle")
    assert problem(error, Path("/v/log")) == "/v/log cannot be read: Stale file handle"


def test_a_file_is_found_by_its_inode(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1")
    (tmp_path / "two").write_text("2")
    descriptor = open_by_inode(tmp_path, tmp_path, (tmp_path / "two").stat().st_ino)
    assert descriptor is not None
    assert os.read(descriptor, 9) == b"2"
    os.close(descriptor)
    assert open_by_inode(tmp_path, tmp_path, 0) is None


def test_a_pipe_swapped_in_at_the_last_moment_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    look = os.stat

    def swap(*args: object, **more: object) -> os.stat_result:
        found = look(*args, **more)  # type: ignore[arg-type]
        path.unlink()
        os.mkfifo(path)
        return found

    before = open_descriptors()
    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", swap)
        with pytest.raises(OSError, match="a regular file"):
            open_file(tmp_path, path)
    assert open_descriptors() == before
