"""A follower and a parser together: nothing is lost between them, and nothing kept that is void."""

import os
from collections.abc import Sequence
from pathlib import Path

from agent.parsing.base import Point
from agent.parsing.jsonl import JsonLines
from agent.parsing.trainer_state import TrainerState
from agent.tailing.cri import PodLogFollower
from agent.tailing.follower import FileFollower
from agent.tailing.whole_file import NewestDocument
from agent.tracking.streams import DocumentStream, LineStream, RecordStream, Stream


class Fours:
    """Records of four bytes: a number each; ``!!!!`` is not of this format."""

    format = "fours"
    problem = ""

    def feed_bytes(self, data: bytes) -> tuple[Sequence[Point], int]:
        whole = len(data) // 4 * 4
        if b"!!!!" in data:
            self.problem = "not of this format"
            return (), len(data)
        return [Point("loss", float(data[i : i + 4])) for i in range(0, whole, 4)], whole

    def reset(self) -> None:
        self.problem = ""


def values(stream: Stream) -> list[float]:
    return [reading.point.value for reading in stream.poll(1.0).readings]


def append(file: Path, data: bytes) -> None:
    with file.open("ab") as stream:
        stream.write(data)


class Tired:
    """Lines, until one says that it is enough."""

    format = "regex"
    problem = ""

    def feed(self, line: str) -> Sequence[Point]:
        self.problem = "enough" if line == "enough" else ""
        return [Point("loss", 1.0)]


def test_lines_are_read_until_their_parser_gives_up(tmp_path: Path) -> None:
    file = tmp_path / "log"
    stream = LineStream(FileFollower(file), Tired())
    append(file, b"1\nenough\n")
    assert values(stream) == [1.0, 1.0]
    append(file, b"more\n")
    batch = stream.poll(2.0)
    assert (batch.problem, batch.lines, list(batch.readings)) == ("enough", 0, [])


def test_a_record_that_is_not_complete_waits_for_its_rest(tmp_path: Path) -> None:
    file = tmp_path / "fours"
    stream = RecordStream(FileFollower(file, binary=True), Fours())
    append(file, b"000100")
    assert values(stream) == [1.0]
    append(file, b"020003")
    assert values(stream) == [2.0, 3.0]
    assert stream.format == "fours"
    stream.close()


def test_the_rest_of_a_record_is_void_when_the_file_begins_anew(tmp_path: Path) -> None:
    file = tmp_path / "fours"
    stream = RecordStream(FileFollower(file, binary=True), Fours())
    append(file, b"000100020")
    assert values(stream) == [1.0, 2.0]
    os.truncate(file, 0)
    append(file, b"0007")
    assert values(stream) == [7.0]


def test_a_file_that_is_not_of_the_format_is_not_read_on(tmp_path: Path) -> None:
    file = tmp_path / "fours"
    stream = RecordStream(FileFollower(file, binary=True), Fours())
    append(file, b"!!!!")
    assert stream.poll(1.0).problem == "not of this format"
    append(file, b"0001")
    batch = stream.poll(1.0)
    assert (list(batch.readings), batch.problem) == ([], "not of this format")


def test_lines_are_counted_and_their_own_time_goes_before_the_runtimes(tmp_path: Path) -> None:
    log = tmp_path / "main" / "0.log"
    log.parent.mkdir()
    log.write_text(
        "1970-01-01T00:00:10Z stdout F hello\n"
        '1970-01-01T00:00:20Z stdout F {"step": 1, "loss": 2}\n'
        '1970-01-01T00:00:30Z stdout F {"step": 2, "loss": 1, "time": 29.5}\n'
    )
    stream = LineStream(PodLogFollower(log.parent), JsonLines())
    batch = stream.poll(1.0)
    assert [reading.at_seconds for reading in batch.readings] == [20.0, 29.5]
    assert batch.lines == 3
    stream.close()


def test_only_the_first_reading_of_a_document_is_of_the_past(tmp_path: Path) -> None:
    file = tmp_path / "trainer_state.json"
    stream = DocumentStream(NewestDocument(tmp_path, file.name), TrainerState())
    file.write_text('{"log_history": [{"step": 1, "loss": 2.0}]}')
    assert [reading.backlog for reading in stream.poll(1.0).readings] == [True]
    assert list(stream.poll(1.0).readings) == []
    file.write_text('{"log_history": [{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.5}]}')
    second = list(stream.poll(1.0).readings)
    assert [(one.point.step, one.backlog) for one in second] == [(2.0, False)]
    stream.close()


def test_a_document_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    stream = DocumentStream(NewestDocument(tmp_path, "x"), TrainerState())
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "x").symlink_to(tmp_path / "secret")
    assert "links are not followed" in stream.poll(1.0).problem
