"""`shuntyard-sim replay` on a small log that a cycle and its store wrote."""

import json
from pathlib import Path

import msgspec
import pytest

from extender.core.cluster.session import Reading
from extender.core.decisionlog.replay import DecisionInput, parameters_hash
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.decision import QUEUE
from extender.core.queue.state import QueueState, QueueTrigger
from extender.store import recording
from extender.store.recording import DecisionRecord
from simulator.main import main
from tests.fakes.builders import make_node
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, store_of

NOW = Reading(1000.0, 10.0)


def lines(params: CoreParameters) -> list[bytes]:
    """Header, checkpoint and one cycle that releases a job."""
    store = store_of(make_node("a"), queued_job("j", 2))
    snapshot = store.snapshot()
    cycle = queue_pass(snapshot, QueueState(), NOW, params)
    given = DecisionInput(NOW, QueueTrigger(), QueueState())
    record = DecisionRecord(
        kind=QUEUE.name,
        generation=snapshot.generation,
        now=NOW.now,
        input=msgspec.to_builtins(given),
        output=msgspec.json.decode(
            msgspec.json.encode(QUEUE.summary(snapshot, QueueTrigger(), cycle))
        ),
    )
    opening = recording.opening(store.export(), parameters_hash(params))
    return [*opening.splitlines(keepends=True), recording.encode(record)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "decisions-000001.jsonl"
    file.write_bytes(b"".join(lines(CoreParameters())))
    return file


def test_a_file_and_its_directory_replay(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "--log", str(log)]) == 0
    assert main(["replay", "--log", str(log.parent)]) == 0
    assert capsys.readouterr().out == "1 decisions replayed, 0 differ\n" * 2


def test_the_first_difference_is_printed_with_its_place(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *before, last = log.read_bytes().splitlines(keepends=True)
    record = json.loads(last)
    record["output"]["commands"][0]["pods"][1]["node"] = "elsewhere"
    wrong = json.dumps(record).encode() + b"\n"
    log.write_bytes(b"".join([*before, wrong, wrong]))
    assert main(["replay", "--log", str(log)]) == 1
    assert capsys.readouterr().out == (
        f"{log.name}, line 3: queue of 1970-01-01T00:16:40.000+00:00 on generation 4\n"
        "  differs at $.commands[0].pods[1].node\n"
        '  recorded: "elsewhere"\n'
        '  replayed: "a"\n'
        "1 decisions replayed, the last one differs\n"
    )


def test_the_settings_of_the_log_are_taken_from_a_file(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log.write_bytes(b"".join(lines(CoreParameters(pin_lost_seconds=99.0))))
    assert main(["replay", "--log", str(log)]) == 1
    assert "written with other parameters" in capsys.readouterr().err
    file = tmp_path / "settings.yaml"
    file.write_text("gang: {pin_lost_seconds: 99}\nlogging: {level: debug}\n")
    assert main(["replay", "--log", str(log), "--settings", str(file)]) == 0


WRONG = {
    "no such file": ("missing.jsonl", 2, "missing.jsonl: No such file or directory\n"),
    "no log": ("settings.yaml", 2, "shuntyard-sim replay: "),
    "an empty directory": (".", 1, ""),
}


@pytest.mark.parametrize(("name", "code", "text"), WRONG.values(), ids=WRONG.keys())
def test_a_file_that_is_no_log_is_an_error(
    name: str, code: int, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "settings.yaml").write_text("gang: {}\n")
    assert main(["replay", "--log", str(tmp_path / name)]) == code
    err = capsys.readouterr().err
    assert text in err
    assert "Errno" not in err
