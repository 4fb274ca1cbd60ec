"""Reading files for ``logs-check``: in parts, with a line of progress on a terminal."""

import io
import sys
from pathlib import Path
from typing import Final

import pytest
from typing_extensions import override

from cli import log_files
from cli.log_files import opened, pipe
from tests.fakes.clock import FakeClock

MB: Final = 1_000_000


class Screen(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Slow(FakeClock):
    """A clock on which each look takes a second."""

    @override
    def monotonic(self) -> float:
        self.pass_by(1.0)
        return self.reading


@pytest.fixture
def log(tmp_path: Path) -> str:
    file = tmp_path / "train.log"
    file.write_bytes(b"x" * (3 * MB))
    return str(file)


def errors(
    out: io.StringIO, file: str, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """What is written while three parts of a file are read."""
    monkeypatch.setattr(sys, "stderr", out)
    with opened(file, whole=False, clock=clock) as read:
        for part in range(3):
            assert len(read(part * MB, MB)) == MB
    return out.getvalue().split("\r")


def test_a_terminal_shows_how_much_of_a_large_file_was_read_and_is_cleared(
    log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    lines = errors(Screen(), log, Slow(), monkeypatch)
    shown = [f"{log}: {amount} of 3 MB" for amount in (1, 2, 3)]
    assert lines == ["", *shown, " " * len(shown[-1]), ""]


def test_a_narrow_terminal_shows_the_amount(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "21")
    lines = errors(Screen(), log, Slow(), monkeypatch)
    assert lines[1] == "train.log: 1 of 3 MB"


def test_the_amount_of_a_pipe_has_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    piped = io.TextIOWrapper(io.BytesIO(b"x" * (3 * MB)))
    monkeypatch.setattr(sys, "stdin", piped)
    lines = errors(Screen(), log_files.STANDARD_INPUT, Slow(), monkeypatch)
    assert lines[1:4] == [f"standard input: {n} MB read" for n in (1, 2, 3)]


QUIET = {
    "not a terminal": (io.StringIO, Slow),
    "a file that is read at once": (Screen, FakeClock),
}


@pytest.mark.parametrize(("out", "clock"), QUIET.values(), ids=QUIET)
def test_nothing_is_written(
    out: type[io.StringIO], clock: type[FakeClock], log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert errors(out(), log, clock(), monkeypatch) == [""]


def test_a_pipe_drops_what_was_read() -> None:
    data = io.BytesIO(bytes(range(100)))
    read = pipe(data, whole=False)
    assert (read(0, 4), read(0, 10), read(10, 10)) == (b"\0\1\2\3", *parts(0, 10))
    assert data.tell() == 20
    with pytest.raises(ValueError, match="offset 0 of a pipe was dropped"):
        read(0, 1)


def test_a_pipe_of_a_document_keeps_everything() -> None:
    read = pipe(io.BytesIO(bytes(range(100))), whole=True)
    assert (read(0, 100), read(100, 10), read(0, 10)) == (bytes(range(100)), b"", parts(0)[0])


def parts(*begins: int) -> tuple[bytes, ...]:
    return tuple(bytes(range(begin, begin + 10)) for begin in begins)
