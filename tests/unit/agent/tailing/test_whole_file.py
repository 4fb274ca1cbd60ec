"""Documents: the newest one, and only when it has changed."""

import os
from pathlib import Path

import pytest

from agent.tailing import whole_file
from agent.tailing.whole_file import NewestDocument
from shared.errors import InputError

PATTERN = "ns/job/checkpoint-*/trainer_state.json"


def _write(root: Path, step: int, text: str) -> Path:
    path = root / f"ns/job/checkpoint-{step}/trainer_state.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_checkpoint_with_the_highest_number_is_read(tmp_path: Path) -> None:
    follower = NewestDocument(tmp_path, PATTERN)
    assert follower.poll().path is None
    newest = _write(tmp_path, 1000, "new")
    _write(tmp_path, 900, "old, but written later")
    document = follower.poll()
    assert (document.path, document.data, document.problem) == (newest, b"new", "")


def test_it_is_read_again_only_when_it_has_changed(tmp_path: Path) -> None:
    follower = NewestDocument(tmp_path, PATTERN)
    path = _write(tmp_path, 1, "one")
    assert follower.poll().data == b"one"
    assert follower.poll().data is None
    path.write_text("two")
    os.utime(path, ns=(1, 1))
    assert follower.poll().data == b"two"
    _write(tmp_path, 2, "three")
    assert follower.poll().data == b"three"


def test_without_numbers_the_one_written_last_is_read(tmp_path: Path) -> None:
    for name, at in (("b", 2), ("a", 3), ("c", 1)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "state").write_text(name)
        os.utime(tmp_path / name / "state", (at, at))
    assert NewestDocument(tmp_path, "*/state").poll().data == b"a"


def test_a_huge_document_is_not_read_and_told(tmp_path: Path) -> None:
    _write(tmp_path, 1, "0123456789")
    document = NewestDocument(tmp_path, PATTERN, most_bytes=9).poll()
    assert document.data is None
    assert "larger than 9 bytes" in document.problem


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").symlink_to("/etc/passwd")
    with pytest.raises(InputError, match="link"):
        NewestDocument(tmp_path, "state").poll()


def test_one_that_goes_or_may_not_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _write(tmp_path, 1, "one")
    follower = NewestDocument(tmp_path, PATTERN)
    for error, words in (
        (FileNotFoundError(2, "gone"), ""),
        (PermissionError(13, "no"), f"{path} may not be read by the agent (permission denied)"),
    ):

        def fail(root: Path, path: Path, error: OSError = error) -> int:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(whole_file, "open_file", fail)
            assert follower.poll().problem == words
    assert follower.poll().data == b"one"
