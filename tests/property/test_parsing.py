"""Laws of parsing: no crash on any input, no point that was not written, none lost."""

import csv
import io
import json
import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.tailing.chunk import Limits
from agent.tailing.follower import FileFollower
from shared.parsing.base import LONGEST_NAME, Parser, Point
from shared.parsing.choosing import parser_for
from shared.parsing.detecting import candidates
from shared.parsing.metric_names import is_metric
from shared.parsing.series import Series
from shared.parsing.structured import JsonLines, Table
from shared.parsing.tfevents import TfEvents
from shared.parsing.trainer_state import TrainerState
from shared.places import FORMATS
from tests.unit.parsing import tfevents_files as files
from tests.unit.parsing.reading import LOGS, fed, lines_of
from tests.unit.parsing.test_corpus import CORPUS
from tests.unit.parsing.test_real_lines import CASES

LINE_FORMATS = [f for f in FORMATS if f not in ("tfevents", "trainer-state", "wandb")]
PIECES = [
    *("Epoch ", "1/2", "9/9", " - ", "loss: ", "0.5", "nan", "1e999", "{'", "':", "}", '{"', '":'),
    *("step", "epoch", ",", "|", "━", "[", "]", "[default0]:", "iteration ", "=", "\t", "%", "…"),
    *(
        " ",
        "I0823 07:49:25.468526 1 a.py:1] ",
        "Train Epoch: ",
        "it/s",
        "•",
        "٣",
        "-",
        "NaN",
        "null",
    ),
]
REAL_LINES = [line for _, raw, _ in CASES.values() for line in lines_of(raw.encode())]
CORPUS_LINES = [line for log in sorted(CORPUS.glob("*.log")) for line in lines_of(log.read_bytes())]
finite = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(st.characters(exclude_categories=["C"], exclude_characters=',"\n\r\t;'), min_size=1)
metrics = names.filter(lambda n: n == n.strip() and is_metric(n) and len(n) <= LONGEST_NAME).filter(
    lambda n: not n.startswith("#") and not _is_number(n)
)
rows = st.lists(st.tuples(st.integers(0, 2**40), st.floats()), min_size=1, max_size=20)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parser(kind: str) -> Parser:
    parser = parser_for(kind, regex=r"loss.(?P<value>\S+)")
    assert isinstance(parser, Parser)
    return parser


@st.composite
def disturbed(draw):
    """A real line with a piece taken out, doubled or put in."""
    line = draw(st.sampled_from(REAL_LINES + CORPUS_LINES))
    start, end = sorted(draw(st.tuples(*[st.integers(0, len(line))] * 2)))
    return line[:start] + draw(st.sampled_from([*PIECES, line[start:end] * 2, ""])) + line[end:]


@pytest.mark.parametrize("kind", LINE_FORMATS)
@given(st.lists(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join), disturbed())))
@example(["{" * 5000, "[" * 5000, '{"step": 1' + "0" * 5000 + "}", " " * 60_000 + "x"])
@example(["Epoch 1" + " " * 60_000 + "x", "1/9 " + "━" * 60_000, "{'a': " * 20_000, "1" * 60_000])
def test_no_line_stops_a_parser_and_every_point_is_one(kind, lines):
    parser, series = _parser(kind), Series()
    for line in lines:
        for point in parser.feed(line):
            assert isinstance(point.value, float)
            assert 0 < len(point.metric) <= 2 * LONGEST_NAME
            assert point.step is None or math.isfinite(point.step)
            assert point.total_steps is None or point.total_steps >= 0
            series.take(point)


@pytest.mark.parametrize("kind", LINE_FORMATS)
@given(st.lists(st.text(st.characters(exclude_categories=["Nd", "C"]), max_size=40)))
def test_lines_without_a_digit_hold_no_finite_value(kind, lines):
    parser = _parser(kind)
    assert not [p for line in lines for p in parser.feed(line) if math.isfinite(p.value)]


@given(st.sampled_from(REAL_LINES), st.data())
def test_a_line_that_lost_its_beginning_is_no_line_of_a_format(line, data):
    tail = line[data.draw(st.integers(1, len(line))) :].partition(" ")[2]
    for parser in candidates():
        if parser.format != "huggingface":  # a dict may follow a bar: its end is a whole dict
            assert not parser.feed("… " + tail)


@given(metrics, rows)
def test_a_line_of_json_is_read(name, rows):
    parser = JsonLines()
    for step, value in rows:
        (point,) = parser.feed(json.dumps({"step": step, name: value}))
        assert repr(point) == repr(Point(name, value, float(step)))


@given(st.lists(metrics, min_size=1, max_size=4, unique=True), rows)
def test_a_line_of_csv_is_read(names, rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["step", *names])
    for step, value in rows:
        writer.writerow([step, *[value] * len(names)])
    parser = Table(strict=True)
    found = [point for line in text.getvalue().split("\n") for point in parser.feed(line)]
    want = [Point(name, value, float(step)) for step, value in rows for name in names]
    assert repr(found) == repr(want)


events = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1), st.floats(width=32), st.text(min_size=1, max_size=9)
    )
)


@given(events, st.lists(st.integers(0, 2000)))
def test_where_an_event_file_is_cut_does_not_change_its_points(events, cuts):
    data = files.VERSION + b"".join(
        files.record(files.event(step, files.simple(tag, value))) for step, value, tag in events
    )
    parser, found, rest, start = TfEvents(), [], b"", 0
    for end in [*sorted(cuts), len(data)]:
        rest += data[start:end]
        start = max(start, end)
        points, consumed = parser.feed_bytes(rest)
        found += points
        rest = rest[consumed:]
    assert rest == b""
    want = [(tag, repr(value), step) for step, value, tag in events]
    assert [(p.metric, repr(p.value), p.step) for p in found] == want


@given(st.integers(0, 2000), st.integers(1, 255), st.integers(0, 300))
def test_a_damaged_event_file_holds_no_point_that_was_not_written(at, flip, cut):
    whole = files.VERSION + b"".join(
        files.record(files.event(i, files.simple("loss", 1 / (i + 1)))) for i in range(20)
    )
    written = {repr(p) for p in TfEvents().feed_bytes(whole)[0]}
    broken = bytearray(whole)
    broken[at % len(broken)] ^= flip
    for data in (bytes(broken), whole[cut:]):
        points, consumed = TfEvents().feed_bytes(data)
        assert {repr(p) for p in points} <= written
        assert consumed <= len(data)


@given(st.binary())
def test_no_bytes_stop_a_reader_of_whole_files(data):
    fed(TrainerState(), data)
    points, consumed = TfEvents().feed_bytes(data)
    assert (list(points), consumed <= len(data)) == ([], True)


@given(st.integers(0, 5000))
def test_half_a_trainer_state_gives_no_points(cut):
    whole = (LOGS / "trainer_state-20.json").read_bytes().rstrip()
    assert not fed(TrainerState(), whole[: min(cut, len(whole) - 1)])


entries = st.dictionaries(
    st.one_of(st.sampled_from(["loss", "eval_loss", "a{", 'b"', "c\\", "ß]"]), names),
    st.one_of(st.integers(-(2**40), 2**40), finite, st.text(max_size=5), st.none(), st.booleans()),
    max_size=4,
)
others = st.one_of(
    st.text(), st.lists(st.integers() | st.text()), st.dictionaries(st.text(), st.text()), finite
)


@given(
    st.lists(entries, max_size=6),
    st.dictionaries(st.text().filter(lambda k: k != "log_history"), others, max_size=4),
    st.integers(1, 60),
    st.sampled_from([None, 1]),
)
def test_a_history_is_read_in_any_pieces_as_it_is_read_whole(history, more, piece, indent):
    history = [{"step": n, **entry} for n, entry in enumerate(history)]
    state = {**more, "log_history": history, "max_steps": 9}
    want = [
        (name, float(value), entry["step"])
        for entry in history
        for name, value in entry.items()
        if is_metric(name) and isinstance(value, int | float) and not isinstance(value, bool)
    ]
    found = fed(TrainerState(), json.dumps(state, indent=indent).encode(), piece)
    texts = {n for e in history for n, v in e.items() if isinstance(v, str)}
    assert [(p.metric, p.value, p.step) for p in found if p.metric not in texts] == [
        one for one in want if one[0] not in texts
    ]
    assert all(point.total_steps == 9 for point in found)


class _Reader:
    """From a file to the values of its points, as the agent reads it."""

    def __init__(self, path: Path, most_bytes: int) -> None:
        self.follower = FileFollower(path, limits=Limits(bytes_per_poll=most_bytes))
        self.parser = parser_for("auto", file_name=path.name)
        self.series = Series()
        self.found: list[float] = []
        self.now = 0.0

    def poll(self) -> bool:
        self.now += 1
        chunk = self.follower.poll(self.now)
        for line in chunk.lines:
            taken = [self.series.take(point) for point in self.parser.feed(line)]
            self.found.extend(t.point.value for t in taken if t.is_new)
        return bool(chunk.lines or chunk.more or chunk.rotated)

    def catch_up(self) -> None:
        while any([self.poll(), self.poll()]):
            pass


@given(
    st.lists(st.tuples(finite, st.sampled_from(["on", "on", "rename", "restart"])), max_size=15),
    st.lists(st.integers(1, 40), min_size=1),
    st.integers(5, 300),
)
def test_a_metrics_file_is_read_through_rotations_restarts_and_half_lines(rows, cuts, most_bytes):
    """From the bytes that a program writes, in any pieces, to points: each once, in order."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.jsonl"
        path.touch()
        reader = _Reader(path, most_bytes)
        step = attempts = 0
        for number, (value, what) in enumerate(rows):
            if what == "rename" and path.stat().st_size:
                reader.catch_up()
                path.rename(path.with_name(f"metrics.jsonl.{number}"))
            elif what == "restart" and step > 1:  # the same step again is a duplicate
                step, attempts = 0, attempts + 1
            step += 1
            data = (json.dumps({"step": step, "loss": value}) + "\n").encode()
            cut = cuts[number % len(cuts)]
            for piece in (data[:cut], data[cut:]):
                with path.open("ab") as file:
                    file.write(piece)
                reader.poll()
        reader.catch_up()
        reader.follower.close()
        assert reader.found == [value for value, _ in rows]
        assert reader.series.attempt == 1 + attempts
