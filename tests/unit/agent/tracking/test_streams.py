"""A follower and a parser together: no line is lost between them, and no invalid one kept."""

import os
from collections.abc import Sequence
from pathlib import Path

from agent.tailing.cri import PodLogFollower
from agent.tailing.follower import FileFollower
from agent.tailing.whole_file import NewestDocument
from agent.tracking.allowance import Allowance
from agent.tracking.streams import Batch, DocumentStream, LineStream, RecordStream, Stream
from shared.parsing.base import Parser, Point
from shared.parsing.choosing import parser_for
from shared.parsing.structured import JsonLines
from shared.parsing.trainer_state import TrainerState


class Fours:
    """Records of four bytes: a number each; ``!!!!`` is not of this format."""

    format = "fours"
    problem = ""

    def feed_bytes(self, data: bytes, *, skip: bool = False) -> tuple[Sequence[Point], int]:
        whole = len(data) // 4 * 4
        if b"!!!!" in data:
            self.problem = "not of this format"
            return (), len(data)
        places = () if skip else range(0, whole, 4)
        return [Point("loss", float(data[i : i + 4])) for i in places], whole

    def reset(self) -> None:
        self.problem = ""


def poll(stream: Stream, allowance: Allowance | None = None) -> Batch:
    return stream.poll(1.0, allowance or Allowance())


def values(stream: Stream) -> list[float]:
    return [reading.point.value for reading in poll(stream).readings]


def append(file: Path, data: bytes) -> None:
    with file.open("ab") as stream:
        stream.write(data)


def test_the_first_line_with_a_loss_is_read_when_no_other_follows(tmp_path: Path) -> None:
    file = tmp_path / "log"
    detector = parser_for("auto")
    assert isinstance(detector, Parser)
    stream = LineStream(FileFollower(file), detector)
    for epoch in (1, 2, 3, 4):
        append(file, b"epoch %d loss 0.%d\n" % (epoch, epoch))
        assert values(stream) == [epoch / 10]
    stream.close()


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
    assert values(stream) == []
    assert poll(stream).problem == "not of this format"
    append(file, b"0001")
    batch = poll(stream)
    assert (list(batch.readings), batch.problem) == ([], "not of this format")


def test_lines_are_counted_and_their_own_time_goes_before_the_runtimes(tmp_path: Path) -> None:
    log = tmp_path / "main" / "0.log"
    log.parent.mkdir()
    log.write_text(
        "2023-11-14T22:13:20Z stdout F hello\n"
        '2023-11-14T22:13:20Z stdout F {"step": 1, "loss": 2}\n'
        '2023-11-14T22:13:30Z stdout F {"step": 2, "loss": 1, "time": 1700000009.5}\n'
    )
    stream = LineStream(PodLogFollower(log.parent), JsonLines())
    batch = poll(stream)
    assert [reading.at_seconds for reading in batch.readings] == [1_700_000_000.0, 1_700_000_009.5]
    assert batch.lines == 3
    stream.close()


def test_only_the_first_reading_of_a_document_is_of_the_past(tmp_path: Path) -> None:
    file = tmp_path / "trainer_state.json"
    stream = DocumentStream(NewestDocument(tmp_path, file.name), TrainerState())
    file.write_text('{"log_history": [{"step": 1, "loss": 2.0}]}')
    assert [reading.backlog for reading in poll(stream).readings] == [True]
    assert list(poll(stream).readings) == []
    file.write_text('{"log_history": [{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.5}]}')
    second = list(poll(stream).readings)
    assert [(one.point.step, one.backlog) for one in second] == [(2.0, False)]
    stream.close()


def test_a_document_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    stream = DocumentStream(NewestDocument(tmp_path, "x"), TrainerState())
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "x").symlink_to(tmp_path / "secret")
    assert "links are not followed" in poll(stream).problem


class Used(Allowance):
    """One that is used up after so many looks at the clock."""

    def __init__(self, looks: int) -> None:
        self.looks = looks + 2  # of the two lines below
        super().__init__(self.seconds)
        self.begin(0.0)

    def seconds(self) -> float:
        self.looks -= 1
        return 0.0 if self.looks >= 0 else 1.0


def test_lines_beyond_the_time_limit_are_skipped_and_counted(tmp_path: Path) -> None:
    """(defect A4)"""
    file = tmp_path / "log"
    file.write_text("".join(f'{{"step": {n}, "loss": 1.0}}\n' for n in range(1, 101)))
    stream, allowance = LineStream(FileFollower(file), JsonLines()), Used(2)
    readings = list(poll(stream, allowance).readings)
    assert (len(readings), allowance.skipped_lines) == (24, 76)
    assert allowance.problem.startswith("log too fast: 76 lines skipped")


def test_records_beyond_the_time_limit_are_skipped_and_counted(tmp_path: Path) -> None:
    """(defect A4)"""
    file = tmp_path / "fours"
    stream, allowance = RecordStream(FileFollower(file, binary=True), Fours()), Used(1)
    append(file, b"0001" * 32 * 1024)
    assert len(list(poll(stream, allowance).readings)) == 16 * 1024
    assert allowance.skipped_bytes == 64 * 1024
    append(file, b"0002")
    assert values(stream) == [2.0]


def test_a_document_is_parsed_in_several_polls(tmp_path: Path) -> None:
    """(defect A4)"""
    file = tmp_path / "trainer_state.json"
    note = "x" * 150_000
    file.write_text(
        f'{{"log_history": [{{"step": 1, "loss": 2.0}}, {{"note": "{note[:60000]}"}}, '
        f'{{"note": "{note[:60000]}"}}, {{"note": "{note[:60000]}"}}]}}'
    )
    stream = DocumentStream(NewestDocument(tmp_path, file.name), TrainerState())
    mores = []
    while (batch := poll(stream, Used(1))).more:
        mores.append(stream.held_bytes)
        assert list(batch.readings) == []
    assert len(mores) == 2
    assert [reading.point.value for reading in batch.readings] == []
    assert list(poll(stream).readings) == []


def test_a_document_that_is_malformed_is_a_problem_until_it_changes(tmp_path: Path) -> None:
    """(defect A4)"""
    file = tmp_path / "trainer_state.json"
    stream = DocumentStream(NewestDocument(tmp_path, file.name), TrainerState())
    file.write_bytes(b"[" * 100)
    for _ in range(2):
        assert "nested more than 32 levels deep" in poll(stream).problem
    file.write_text('{"log_history": [{"step": 1, "loss": 2.0}]}')
    assert values(stream) == [2.0]
    assert not poll(stream).problem
