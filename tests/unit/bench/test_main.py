"""The entry point of the benchmarks."""

import argparse
import signal
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from bench import __main__ as entry


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    known = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in known.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_benchmark_cleans_up_on_sigterm(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    done: list[str] = []

    def run(_options: argparse.Namespace) -> int:
        try:
            signal.raise_signal(number)
        finally:
            done.append("cleaned up")
        return 0

    long = SimpleNamespace(__doc__="Takes long.", add_arguments=lambda _parser: None, run=run)
    monkeypatch.setitem(entry.COMMANDS, "long", long)
    monkeypatch.setattr(sys, "argv", ["bench", "long"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == 128 + number
    assert done == ["cleaned up"]


def test_the_help_lists_every_benchmark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "--help"])
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == 0
    assert "simulated" in capsys.readouterr().out
