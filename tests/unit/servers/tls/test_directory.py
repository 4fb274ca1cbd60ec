"""Files change all at once, and only our user can read them."""

import itertools
import stat
import threading
import time
from pathlib import Path

import pytest

from extender.servers.tls import directory

FIRST = {"tls.crt": b"one", "tls.key": b"one"}
SECOND = {"tls.crt": b"two", "tls.key": b"two"}


def test_files_are_written_and_readable_by_our_user_only(tmp_path: Path) -> None:
    place = tmp_path / "certificates"
    assert directory.write(place, FIRST)
    assert not directory.write(place, FIRST)
    assert directory.write(place, SECOND)
    assert {name: (place / name).read_bytes() for name in SECOND} == SECOND
    assert stat.S_IMODE((place / "tls.key").stat().st_mode) == 0o600
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_old_generations_are_removed_but_for_the_last_one(tmp_path: Path) -> None:
    for number in range(12):
        directory.write(tmp_path, {"tls.crt": b"%d" % number})
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["..data", "..generation-11", "..generation-12", "tls.crt"]


def test_a_reader_never_sees_a_torn_pair(tmp_path: Path) -> None:
    directory.write(tmp_path, FIRST)
    done = threading.Event()
    pairs_read: set[tuple[bytes, ...]] = set()

    def read() -> None:
        while not done.is_set():
            place = (tmp_path / directory.CURRENT).resolve()
            try:
                pairs_read.add(tuple((place / name).read_bytes() for name in FIRST))
            except FileNotFoundError:
                continue  # two generations ago: a slow reader tries again

    reader = threading.Thread(target=read)
    reader.start()
    pairs, deadline = itertools.cycle((FIRST, SECOND)), time.monotonic() + 60.0
    for pair in itertools.islice(pairs, 200):
        directory.write(tmp_path, pair)
    while not pairs_read and time.monotonic() < deadline:
        directory.write(tmp_path, next(pairs))
    done.set()
    reader.join()
    assert pairs_read <= {(b"one", b"one"), (b"two", b"two")}
    assert pairs_read


def test_a_directory_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        directory.write(tmp_path / "file" / "certificates", FIRST)


def test_nothing_stays_of_a_generation_that_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes to a full disk are repeated; each one would leave a directory with a key."""
    directory.write(tmp_path, FIRST)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(OSError, match="missing"):
        directory.write(tmp_path, {"tls.crt": b"two", "missing/tls.key": b"two"})
    assert sorted(path.name for path in tmp_path.iterdir()) == before

    def full(_link: Path, _target: Path) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        with pytest.raises(OSError, match="no space"):
            directory.write(tmp_path, SECOND)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert {name: (tmp_path / name).read_bytes() for name in FIRST} == FIRST


def test_the_generation_of_a_killed_writer_is_removed_and_not_the_one_in_use(
    tmp_path: Path,
) -> None:
    directory.write(tmp_path, FIRST)
    (tmp_path / "..generation-2").mkdir()  # killed before it was in use
    directory.write(tmp_path, SECOND)
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["..data", "..generation-1", "..generation-3", "tls.crt", "tls.key"]
