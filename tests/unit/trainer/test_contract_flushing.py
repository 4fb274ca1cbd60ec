"""What Linux says is still to be written of a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shuntyard_trainer.contract_flushing import require_visible, unflushed_bytes
from shuntyard_trainer.contract_run import NotTestedError

IN_MEMORY = Path("/dev/shm")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory on a disk that shows it."""
    try:
        require_visible(tmp_path)
    except NotTestedError:
        pytest.skip("the directory of the tests is not on a disk that shows it")
    return tmp_path


@pytest.mark.parametrize("size", [1, 5000, 3_000_000])
def test_what_is_not_flushed_is_counted_in_pages(place: Path, size: int) -> None:
    path = place / "a name with spaces"
    path.write_bytes(b"x" * size)
    assert size <= unflushed_bytes(path) < size + 2 * os.sysconf("SC_PAGE_SIZE")
    with path.open("rb") as file:
        os.fsync(file.fileno())
    assert unflushed_bytes(path) == 0


def test_an_empty_file_has_nothing_to_flush(place: Path) -> None:
    path = place / "empty"
    path.touch()
    assert unflushed_bytes(path) == 0


def test_a_file_system_in_memory_is_no_evidence() -> None:
    if not IN_MEMORY.is_dir():
        pytest.skip("there is no file system in memory")
    with pytest.raises(NotTestedError, match="TMPDIR"):
        require_visible(IN_MEMORY)
