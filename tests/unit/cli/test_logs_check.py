"""``shuntyard logs-check``: files in, what the agent would read out."""

import gzip
import io
import json
import lzma
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from cli.__main__ import main
from tests.unit.parsing.test_corpus import CORPUS
from tests.unit.parsing.tfevents_files import event, record, simple

Captured = pytest.CaptureFixture[str]


def checked(*argv: str) -> int:
    return main(["logs-check", *argv])


def written(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_format_metric_step_and_others_are_shown(capsys: Captured) -> None:
    assert checked(str(CORPUS / "gpt-neox.log")) == 0
    out = capsys.readouterr().out
    assert "lines, format printed" in out or "lines, format deepspeed" in out
    assert "  metric:   " in out
    assert "lower is better" in out
    assert "counted in steps" in out


class Tty(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_lines_fit_a_terminal_but_the_one_to_be_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    many = {f"a_series_of_numbers_{n}": n for n in range(8)}
    steps = [json.dumps({"step": n, "loss": 1 / n, **many}) for n in range(1, 9)]
    odd = ["a_loss_in_brackets_with_a_long_name [0.5]"] * 9
    out = Tty()
    monkeypatch.setattr("sys.stdout", out)
    checked(written(tmp_path / "a", *steps), written(tmp_path / "b", *odd))
    lines = out.getvalue().splitlines()
    assert "  others:   a_series_of_numbers_0, a_series_of_numbers_1," in lines
    assert "  problem:  no values found" in lines
    too_long = [line for line in lines if len(line) > 60 and str(tmp_path) not in line]
    assert [line.split()[0] for line in too_long] == ["try:"], lines


def test_json_has_the_same_facts(capsys: Captured) -> None:
    assert checked(str(CORPUS / "llamafactory.jsonl"), "-o", "json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["format"] == "jsonl"
    assert found["metric"] == "loss"
    assert found["step"] < found["total_steps"]
    assert found["remaining"] is None


def test_a_containers_log_has_times_and_so_a_time_left(tmp_path: Path, capsys: Captured) -> None:
    lines = [
        f"{datetime.fromtimestamp(1_700_000_000 + 10 * n, UTC):%Y-%m-%dT%H:%M:%S}.5Z stdout F "
        f"iter {n}/100: loss {3.0 / n:.4f}"
        for n in range(1, 41)
    ]
    assert checked(written(tmp_path / "0.log", *lines)) == 0
    out = capsys.readouterr().out
    assert "40 of 100, counted in steps" in out
    assert "  left:     10m00s (9m5" in out  # the band is calibrated: never exact


def test_event_files_are_read(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "events.out.tfevents.1.host"
    file.write_bytes(b"".join(record(event(n, simple("loss", 1.0 / n))) for n in (1, 2, 3)))
    assert checked(str(file)) == 0
    assert "format tfevents" in capsys.readouterr().out


def test_documents_are_read(tmp_path: Path, capsys: Captured) -> None:
    history = [{"step": n, "epoch": n / 10, "loss": 1.0 / n} for n in range(1, 4)]
    state = json.dumps({"max_steps": 30, "log_history": history})
    file = written(tmp_path / "trainer_state.json", state)
    assert checked(file) == 0
    assert "3 of 30, counted in steps" in capsys.readouterr().out


def test_where_nothing_is_read_the_exit_code_says_so(tmp_path: Path, capsys: Captured) -> None:
    assert checked(str(CORPUS / "web-server.log")) == 1
    out = capsys.readouterr().out
    assert "no format" in out
    assert "no values found: set format=… or regex=…" in out


def test_a_proposed_pattern_reads_the_values(tmp_path: Path, capsys: Captured) -> None:
    lines = [f"== progress report: my loss {1.0 / n:.3f}, all is well" for n in range(1, 20)]
    file = written(tmp_path / "train.log", *lines)
    assert checked(file, "-o", "json") == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert checked(file, "--regex", found["regex"], "--metric", "loss") == 0
    assert "loss, 19 values, last 0.053" in capsys.readouterr().out


def test_a_name_decides_among_series_that_are_equally_good(
    tmp_path: Path, capsys: Captured
) -> None:
    lines = [f"step {n}: loss_gen {1.0 / n:.3f} loss_disc {0.5 / n:.3f}" for n in range(1, 20)]
    file = written(tmp_path / "train.log", *lines)
    assert checked(file, "-o", "json") == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert found["why_not"].startswith("several series are equally good, name one with metric=…")
    assert checked(file, "--metric", "loss_disc") == 0
    assert "  metric:   loss_disc, " in capsys.readouterr().out


WRONG = {
    "format": (["--format", "xml"], "annotation shuntyard.io/metrics, format: 'xml'"),
    "total": (["--total-steps", "many"], "annotation shuntyard.io/metrics, total-steps: 'many'"),
    "regex": (["--regex", "loss (.*)"], "annotation shuntyard.io/metrics, regex: 'loss (.*)'"),
}


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG)
def test_an_option_that_cannot_be_used_is_named_by_its_key(
    options: list[str], message: str, capsys: Captured
) -> None:
    assert checked(str(CORPUS / "timm.log"), *options) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_cannot_be_read_does_not_stop_the_others(
    tmp_path: Path, capsys: Captured
) -> None:
    broken = written(tmp_path / "trainer_state.json", '{"log_history": [')
    files = [str(tmp_path / "missing.log"), broken, str(CORPUS / "timm.log")]
    assert checked(*files) == 2
    captured = capsys.readouterr()
    assert "missing.log: No such file or directory" in captured.err
    assert "trainer_state.json: incomplete" in captured.err
    assert "timm.log: " in captured.out


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    data = (CORPUS / "timm.log").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert checked("-") == 0
    assert capsys.readouterr().out.startswith("standard input: ")


def test_a_closed_standard_input_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert checked("-") == 2
    assert capsys.readouterr().err == "shuntyard: standard input: it is closed\n"


def test_a_pipe_is_read_to_its_end(capsys: Captured) -> None:
    reading, writing = os.pipe()
    lines = "".join(f"step {n}/9 loss {1 / n:.3f}\n" for n in range(1, 5))
    os.write(writing, lines.encode())
    os.close(writing)
    try:
        assert checked(f"/dev/fd/{reading}") == 0
    finally:
        os.close(reading)
    assert "4 of 9, counted in steps" in capsys.readouterr().out


COMPRESSED = {"gzip": gzip.compress, "xz": lzma.compress}


@pytest.mark.parametrize(("name", "compress"), COMPRESSED.items(), ids=COMPRESSED)
def test_a_compressed_file_is_refused_by_the_name_of_its_format(
    name: str, compress: Callable[[bytes], bytes], tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "0.log.20260101"
    file.write_bytes(compress((CORPUS / "timm.log").read_bytes()))
    assert checked(str(file)) == 2
    captured = capsys.readouterr()
    assert not captured.out, "no empty line"
    assert f"0.log.20260101: compressed with {name};" in captured.err


def test_an_empty_file_is_called_empty(tmp_path: Path, capsys: Captured) -> None:
    assert checked(written(tmp_path / "train.log")) == 1
    assert "problem:  no values found: it is empty" in capsys.readouterr().out


def test_yaml_has_what_json_has(capsys: Captured) -> None:
    file = str(CORPUS / "timm.log")
    assert checked(file, "-o", "json") == 0
    as_json = json.loads(capsys.readouterr().out)
    assert checked(file, "-o", "yaml") == 0
    assert yaml.safe_load(capsys.readouterr().out) == as_json


def test_a_stated_total_replaces_that_of_the_file(capsys: Captured) -> None:
    assert checked(str(CORPUS / "llamafactory.jsonl"), "--total-steps", "99999") == 0
    assert "of 99999, counted in steps" in capsys.readouterr().out


def test_control_codes_of_a_log_are_not_printed(tmp_path: Path, capsys: Captured) -> None:
    lines = [json.dumps({"step": n, "loss\x1b[31m": 1.0}) for n in range(1, 5)]
    checked(written(tmp_path / "m.jsonl", *lines))
    assert "\x1b" not in capsys.readouterr().out
