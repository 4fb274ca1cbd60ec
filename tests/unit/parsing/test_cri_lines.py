"""Lines of container logs: the format of the runtime taken off, parts put together."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.parsing import cri_lines
from shared.parsing.cri_lines import CriCutter, moment

T = b"2016-10-06T00:17:09.669794202Z"
CASES = {
    "a full line": ([T + b" stdout F a line\n"], ["a line"]),
    "the line of the documentation": ([T + b" stdout P log content 1\n"], []),
    "parts until it is full": ([T + b" stdout P one, \n" + T + b" stdout F two\n"], ["one, two"]),
    "parts of each stream apart": (
        [T + b" stdout P a\n" + T + b" stderr F x\n" + T + b" stdout F b\n"],
        ["x", "ab"],
    ),
    "the tag may have more fields": ([T + b" stdout F:later:fields a line\n"], ["a line"]),
    "a carriage return ends a line inside a part": (
        [T + b" stdout P 1/9\r2/9\r3/\n" + T + b" stdout F 9\r\n"],
        ["1/9", "2/9", "3/9"],
    ),
    "an empty line is none": ([T + b" stdout F \n" + T + b" stdout F\n"], []),
    "blanks of the line stay": ([T + b" stdout F   a\n"], ["  a"]),
    "a line in pieces": ([T[:7], T[7:] + b" stdout F a", b" line\n"], ["a line"]),
    "an unknown stream is no line": ([T + b" stdlog F a\n"], []),
    "an unknown tag is no line": ([T + b" stdout X a\n"], []),
    "something else is no line": ([b'{"log":"a"}\n', b"\n", b" stdout F a\n"], []),
}


@pytest.mark.parametrize(("blocks", "want"), CASES.values(), ids=CASES)
def test_lines_of_the_container_come_out(blocks: list[bytes], want: list[str]) -> None:
    cutter = CriCutter(1000)
    assert [line for block in blocks for line in cutter.cut(block, 100).lines] == want


MOMENTS = {
    "nine digits": (b"2016-10-06T00:17:09.669794202Z", 1475713029.669794),
    "none": (b"2016-10-06T00:17:09Z", 1475713029.0),
    "one, with a zone": (b"2016-10-06T08:17:09.5+08:00", 1475713029.5),
    "twelve": (b"2016-10-06T00:17:09.123456789012Z", 1475713029.123456),
    "no zone is UTC": (b"2016-10-06T00:17:09", 1475713029.0),
    "something else": (b"yesterday", None),
    "no text at all": (b"\xff", None),
}


@pytest.mark.parametrize(("stamp", "want"), MOMENTS.values(), ids=MOMENTS)
def test_time_stamps_are_read_leniently(stamp: bytes, want: float | None) -> None:
    assert moment(stamp) == pytest.approx(want)


def test_each_line_has_the_time_of_the_part_that_ended_it() -> None:
    early, late = b"2026-11-21T10:00:00Z", b"2026-11-21T10:00:05Z"
    data = early + b" stdout P a\rb\n" + late + b" stdout F c\n" + b"soon stdout F d\n"
    cut = CriCutter(1000).cut(data, 100)
    first = moment(early)
    assert first is not None
    assert dict(zip(cut.lines, cut.times, strict=True)) == {"a": first, "bc": first + 5, "d": None}


def test_lines_beyond_the_limit_are_left_where_they_are() -> None:
    line = T + b" stdout F a\n"
    cut = CriCutter(1000).cut(line * 3, 2)
    assert (len(cut.lines), cut.consumed) == (2, 2 * len(line))


def test_what_is_no_line_of_a_runtime_is_counted() -> None:
    cut = CriCutter(20).cut(b"x" * 30 + b"\n", 10)
    assert (cut.dropped_lines, cut.dropped_bytes) == (1, 31)
    cutter = CriCutter(20)
    cutter.cut(b"x" * 30, 10)
    assert len(cutter._kept) == 20
    assert cutter.cut(b"\n", 10).dropped_bytes == 31


def test_parts_continue_in_the_next_file_but_not_after_a_restart() -> None:
    cutter = CriCutter(1000)
    cutter.cut(T + b" stdout P one, \ntorn", 10)
    assert cutter.rotate().dropped_bytes == 4
    assert cutter.cut(T + b" stdout F two\n", 10).lines == ("one, two",)
    cutter.cut(T + b" stdout P three\n", 10)
    assert cutter.restart().dropped_bytes == 5
    assert cutter.cut(T + b" stdout F four\n", 10).lines == ("four",)


def test_a_reader_that_starts_in_the_middle_skips_lines_that_may_have_begun_before() -> None:
    cutter = CriCutter(1000)
    cutter.enter()
    data = b"of a line\n" + T + b" stdout F the end of parts\n" + T + b" stdout F whole\n"
    assert cutter.cut(data, 10).lines == ("whole",)


HEADS = (T, b"2016-10-06T00:17:09Z", b"soon", b"")
BODIES = (b"a", b"a b ", b"", b"  ", b"\ta", b"a\rb", b"\x1b[1ma", "é".encode(), b"\x7f", b"x" * 60)
PIECES = st.builds(
    b" ".join,
    st.tuples(
        st.sampled_from(HEADS),
        st.sampled_from((b"stdout", b"stderr", b"stdlog")),
        st.sampled_from((b"F", b"F", b"F", b"P", b"F:x")),
        st.sampled_from(BODIES),
    ),
)
BLOCKS = st.lists(
    st.tuples(st.lists(PIECES, max_size=4), st.sampled_from((b"\n", b"\n", b"", b"\n\n")))
)


@given(BLOCKS, st.sampled_from((50, 1000)), st.integers(1, 5))
def test_ordinary_lines_are_cut_as_all_others(
    blocks: list[tuple[list[bytes], bytes]], line_bytes: int, most_lines: int
) -> None:
    """What is cut line by line is the definition."""
    cutter, definition = CriCutter(line_bytes), CriCutter(line_bytes)
    for pieces, end in blocks:
        data = b"\n".join(pieces) + end
        with patch.object(cri_lines, "plain_lines", lambda _: None):
            want = definition.cut(data, most_lines)
        assert cutter.cut(data, most_lines) == want
        assert vars(cutter._streams[b"stdout"]) == vars(definition._streams[b"stdout"])
        assert (cutter._kept, cutter._lost) == (definition._kept, definition._lost)
