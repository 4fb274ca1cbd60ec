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


def _content(follower: NewestDocument) -> bytes:
    with follower.opened() as document:
        return document.read(0, document.size)


def test_the_checkpoint_with_the_highest_number_is_read(tmp_path: Path) -> None:
    follower = NewestDocument(tmp_path, PATTERN)
    with follower.opened() as document:
        assert (document.path, document.stamp, document.problem) == (None, None, "")
    newest = _write(tmp_path, 1000, "new")
    _write(tmp_path, 900, "old, but written later")
    with follower.opened() as document:
        assert (document.path, document.size, document.problem) == (newest, 3, "")
        assert (document.read(0, 3), document.read(1, 9)) == (b"new", b"ew")


def test_of_a_thousand_checkpoints_the_one_with_the_highest_number_is_read(tmp_path: Path) -> None:
    for step in range(1, 1001):
        _write(tmp_path, step, str(step))
    assert _content(NewestDocument(tmp_path, PATTERN)) == b"1000"


def test_its_stamp_changes_only_when_it_has_changed(tmp_path: Path) -> None:
    follower = NewestDocument(tmp_path, PATTERN)
    path = _write(tmp_path, 1, "one")
    stamps = []
    for change in (lambda: None, lambda: None, lambda: os.utime(path, ns=(1, 1))):
        change()
        with follower.opened() as document:
            stamps.append(document.stamp)
    assert stamps[0] == stamps[1] != stamps[2]
    _write(tmp_path, 2, "three")
    assert _content(follower) == b"three"


def test_without_numbers_the_one_written_last_is_read(tmp_path: Path) -> None:
    for name, at in (("b", 2), ("a", 3), ("c", 1)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "state").write_text(name)
        os.utime(tmp_path / name / "state", (at, at))
    assert _content(NewestDocument(tmp_path, "*/state")) == b"a"


def test_a_huge_document_is_reported_and_not_read(tmp_path: Path) -> None:
    _write(tmp_path, 1, "0123456789")
    with NewestDocument(tmp_path, PATTERN, most_bytes=9).opened() as document:
        assert document.stamp is None
        assert "larger than 9 bytes" in document.problem


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").symlink_to("/etc/passwd")
    with pytest.raises(InputError, match="link"), NewestDocument(tmp_path, "state").opened():
        pass


def test_a_removed_file_is_none_and_an_unreadable_one_is_reported(
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
            with follower.opened() as document:
                assert document.problem == words
    assert _content(follower) == b"one"
