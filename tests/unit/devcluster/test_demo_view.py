"""The output of the demo, and when it counts as a success."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from devcluster.demo import __main__ as demo_program
from devcluster.demo.curves import Point, first_point, last_point, repeated_steps
from devcluster.demo.report import passed
from devcluster.demo.table import Row, lines

FILES: dict[str, tuple[str | None, Point | None, Point | None]] = {
    "no file yet": (None, None, None),
    "an empty file": ("", None, None),
    "half a line": ('{"step": 0, "lo', None, None),
    "one line": ('{"step": 0, "loss": 2.5, "time": 1}\n', Point(0, 2.5), Point(0, 2.5)),
    "a line and a half": (
        '{"step": 0, "loss": 2.5, "time": 1}\n{"step": 1, "loss": 2.',
        Point(0, 2.5),
        Point(0, 2.5),
    ),
    "more than the tail that is read": (
        "".join(f'{{"step": {i}, "loss": {100 - i}.0, "time": 1}}\n' for i in range(100)),
        Point(0, 100.0),
        Point(99, 1.0),
    ),
}


@pytest.mark.parametrize(("text", "first", "last"), FILES.values(), ids=FILES)
def test_a_curve_is_read_while_it_is_written(
    tmp_path: Path, text: str | None, first: Point | None, last: Point | None
) -> None:
    if text is not None:
        metrics = tmp_path / "metrics"
        metrics.mkdir()
        (metrics / "job-abcde.jsonl").write_text(text)
    assert (first_point(tmp_path), last_point(tmp_path)) == (first, last)


def test_a_curve_continues_in_the_file_of_the_next_pod(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    for name, steps in {"job-zzzzz": (1, 2, 3), "job-abcde": (3, 4)}.items():
        lines = [f'{{"step": {step}, "loss": {9 - step}.0}}\n' for step in steps]
        (tmp_path / "metrics" / f"{name}.jsonl").write_text("".join(lines))
    assert (first_point(tmp_path), last_point(tmp_path)) == (Point(1, 8.0), Point(4, 5.0))
    assert repeated_steps(tmp_path) == 1


GOOD: dict[str, Any] = {
    "jobs": 2,
    "completed": 2,
    "partial_gangs": 0,
    "order_violations": [],
    "order": [{"v": 2.0}, {"v": 0.0}],
    "losses": {"a": (2.0, 0.5), "b": (2.0, 0.4)},
    "migrations": [{"job": "a", "phase": "Completed", "acked_step": 7, "resumed_step": 7}],
    "repeated_steps": {"a": 0, "b": 0},
    "last": {"p": "parked", "u": "admitted"},
}
FAULTS: dict[str, dict[str, Any]] = {
    "a job has not finished": {"completed": 1},
    "a gang was partial": {"partial_gangs": 1},
    "a job was overtaken": {"order_violations": ["a"]},
    "the order is not proved": {"order": [{"v": None}]},
    "a loss rose": {"losses": {"a": (2.0, 2.1)}},
    "a job wrote no loss": {"losses": {"a": None}},
    "nothing moved": {"migrations": []},
    "a moved job began anew": {
        "migrations": [{"job": "a", "phase": "Completed", "acked_step": 7, "resumed_step": 1}]
    },
    "a moved job did steps twice": {"repeated_steps": {"a": 2, "b": 0}},
}


def test_a_run_without_fault_passes() -> None:
    assert passed(GOOD)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_any_fault_fails_the_run(fault: dict[str, Any]) -> None:
    assert not passed({**GOOD, **fault})


def test_a_line_has_the_state_of_a_job() -> None:
    rows = [
        Row("t/a", 8, None, "running 8/8", "n1 4, n2 4", Point(0, 2.3), Point(9, 0.9), ""),
        Row("t/b", 1, 18.5, "waiting", "", None, None, "GangDoesNotFit: no room"),
    ]
    assert lines(rows, 3.21).splitlines() == [
        "   3.2s  t/a                       running 8/8   [n1 4, n2 4]  step=9 loss=2.30→0.90",
        "   3.2s  t/b                       waiting       score=18  GangDoesNotFit: no room",
    ]


@pytest.mark.parametrize("installed", [True, False])
def test_the_command_that_is_printed_can_be_called(
    installed: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A new user has the command in the environment of the demo alone."""
    ours = tmp_path / ".venv-demo" / "bin" / "shuntyard"
    ours.parent.mkdir(parents=True)
    ours.touch(mode=0o755)
    monkeypatch.setattr("sys.executable", str(ours.with_name("python")))
    monkeypatch.setenv("PATH", str(ours.parent) if installed else "")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo_program, "bring_up", lambda _: a_demo())
    monkeypatch.setattr(demo_program, "run", shown)
    monkeypatch.setattr(demo_program, "_take_down", lambda _: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    demo_program.main([])
    command = "shuntyard" if installed else ".venv-demo/bin/shuntyard"
    printed = capsys.readouterr().out.splitlines()
    assert f"  {command} resume parked -n students" in printed
    assert printed[-3].endswith(f", or `{command} ui --url http://127.0.0.1:1`")


def a_demo() -> Any:
    cluster = SimpleNamespace(
        extender_url="http://127.0.0.1:1", kubeconfig="kubeconfig", address="127.0.0.1"
    )
    return SimpleNamespace(cluster=cluster, cast=None)


async def shown(_demo: Any, *, finished: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    finished(GOOD)
    return GOOD
