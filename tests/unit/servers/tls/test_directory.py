"""Files change all at once, and nobody else can read them."""

import itertools
import stat
import threading
import time
from pathlib import Path

import pytest

from extender.servers.tls import directory

ONE = {"tls.crt": b"one", "tls.key": b"one"}
TWO = {"tls.crt": b"two", "tls.key": b"two"}


def test_what_is_written_is_there_and_is_ours_alone(tmp_path: Path) -> None:
    place = tmp_path / "certificates"
    assert directory.write(place, ONE)
    assert not directory.write(place, ONE)
    assert directory.write(place, TWO)
    assert {name: (place / name).read_bytes() for name in TWO} == TWO
    assert stat.S_IMODE((place / "tls.key").stat().st_mode) == 0o600
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_old_generations_go_and_the_last_one_stays_a_while(tmp_path: Path) -> None:
    for number in range(12):
        directory.write(tmp_path, {"tls.crt": b"%d" % number})
    kept = sorted(one.name for one in tmp_path.iterdir())
    assert kept == ["..data", "..generation-11", "..generation-12", "tls.crt"]


def test_a_reader_never_sees_a_torn_pair(tmp_path: Path) -> None:
    directory.write(tmp_path, ONE)
    done = threading.Event()
    seen: set[tuple[bytes, ...]] = set()

    def read() -> None:
        while not done.is_set():
            place = (tmp_path / directory.CURRENT).resolve()
            try:
                seen.add(tuple((place / name).read_bytes() for name in ONE))
            except FileNotFoundError:
                continue  # two generations ago: a slow reader looks again

    reader = threading.Thread(target=read)
    reader.start()
    pairs, deadline = itertools.cycle((ONE, TWO)), time.monotonic() + 60.0
    for pair in itertools.islice(pairs, 200):
        directory.write(tmp_path, pair)
    while not seen and time.monotonic() < deadline:
        directory.write(tmp_path, next(pairs))
    done.set()
    reader.join()
    assert seen <= {(b"one", b"one"), (b"two", b"two")}
    assert seen


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        directory.write(tmp_path / "file" / "certificates", ONE)


def test_of_what_could_not_be_written_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full is tried again and again; each try would leave a directory with a key."""
    directory.write(tmp_path, ONE)
    before = sorted(one.name for one in tmp_path.iterdir())
    with pytest.raises(OSError, match="missing"):
        directory.write(tmp_path, {"tls.crt": b"two", "missing/tls.key": b"two"})
    assert sorted(one.name for one in tmp_path.iterdir()) == before

    def full(_link: Path, _target: Path) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        with pytest.raises(OSError, match="no space"):
            directory.write(tmp_path, TWO)
    assert sorted(one.name for one in tmp_path.iterdir()) == before
    assert {name: (tmp_path / name).read_bytes() for name in ONE} == ONE


def test_what_a_killed_writer_left_is_removed_and_not_what_is_read(tmp_path: Path) -> None:
    directory.write(tmp_path, ONE)
    (tmp_path / "..generation-2").mkdir()  # killed before it was in use
    directory.write(tmp_path, TWO)
    kept = sorted(one.name for one in tmp_path.iterdir())
    assert kept == ["..data", "..generation-1", "..generation-3", "tls.crt", "tls.key"]
