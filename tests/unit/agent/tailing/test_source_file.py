"""One opened file: identified by inode and content."""

import os
from pathlib import Path

from agent.tailing.source_file import SourceFile
from tests.unit.agent.tailing.scene import open_descriptors


def _opened(path: Path) -> SourceFile:
    descriptor = os.open(path, os.O_RDONLY)
    return SourceFile(descriptor, os.fstat(descriptor))


def test_a_descriptor_of_another_file_is_not_taken_and_closed(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1")
    (tmp_path / "two").write_text("2")
    file = _opened(tmp_path / "one")
    before = open_descriptors()
    assert not file.adopt(os.open(tmp_path / "two", os.O_RDONLY))
    assert open_descriptors() == before
    assert file.adopt(os.open(tmp_path / "one", os.O_RDONLY))
    assert file.read(9) == b"1"
    file.close()
    file.close()
    assert not file.is_open


def test_a_file_is_as_read_while_its_beginning_and_what_was_read_last_stay(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 1000)
    file = _opened(path)
    file.advance(file.read(800))
    assert file.is_as_read(1000)
    assert not file.is_as_read(799)
    assert file.read_on(200) == b"x" * 200
    for changed, as_read in ((0, False), (255, False), (500, True), (740, False), (900, True)):
        path.write_bytes(b"x" * changed + b"y" + b"x" * (999 - changed))
        assert file.is_as_read(1000) is as_read
        assert (file.read_on(200) is not None) is as_read
    file.close()


def test_nothing_is_changed_until_size_or_time_are(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    file = _opened(path)
    assert not file.unchanged(file.status())
    file.note_status(file.status())
    file.advance(file.read(9))
    assert file.unchanged(file.status())
    os.utime(path, ns=(1, 1))
    assert not file.unchanged(file.status())
    file.close()
