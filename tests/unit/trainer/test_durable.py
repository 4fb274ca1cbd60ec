"""What was answered outlives the loss of power, as far as the storage can promise it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from shuntyard_trainer.durable import make_durable, size_bytes


def _tree(root: Path) -> Path:
    folder = root / "checkpoint"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "shard").write_bytes(b"1234")
    (folder / "index").write_bytes(b"12")
    (folder / "link").symlink_to("nowhere")
    return folder


def test_every_file_comes_before_its_directory_and_the_parent_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, synced = _tree(tmp_path), []
    monkeypatch.setattr(
        os, "fsync", lambda fd: synced.append(Path(f"/proc/self/fd/{fd}").readlink())
    )
    make_durable(folder)
    names = [str(path.relative_to(tmp_path)) for path in synced]
    assert names == [
        "checkpoint/deep/shard",
        "checkpoint/deep",
        "checkpoint/index",
        "checkpoint",
        ".",
    ]


def test_the_size_is_that_of_all_files(tmp_path: Path) -> None:
    folder = _tree(tmp_path)
    assert (size_bytes(folder), size_bytes(folder / "index")) == (6, 2)


@pytest.mark.parametrize(("number", "fails"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_mount_without_fsync_is_borne_a_write_error_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, *, fails: bool
) -> None:
    def fsync(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fsync)
    if fails:
        with pytest.raises(OSError, match="error"):
            make_durable(_tree(tmp_path))
    else:
        make_durable(_tree(tmp_path))
