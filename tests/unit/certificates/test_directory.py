"""Files change all at once, and nobody else can read them."""

import stat
import threading
from pathlib import Path

import pytest

from extender.certificates import directory

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
    for number in range(200):
        directory.write(tmp_path, (ONE, TWO)[number % 2])
    done.set()
    reader.join()
    assert seen <= {(b"one", b"one"), (b"two", b"two")}
    assert seen


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        directory.write(tmp_path / "file" / "certificates", ONE)
