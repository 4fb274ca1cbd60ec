"""Bytes become complete lines; incomplete ones wait, within a limit."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.parsing import cutting
from shared.parsing.cutting import BytesCutter, LineCutter

CASES = {
    "lines end at \\n": ([b"a\nb\n"], ["a", "b"]),
    "and at \\r": ([b"a\rb\r"], ["a", "b"]),
    "\\r\\n is one end": ([b"a\r\nb\r\n"], ["a", "b"]),
    "also when it is cut between": ([b"a\r", b"\nb\r", b"\n"], ["a", "b"]),
    "empty lines are left out": ([b"\n\n \n\x1b[0m\na\n"], ["a"]),
    "an unfinished line waits": ([b"a\nb"], ["a"]),
    "until it is finished": ([b"a", b"b", b"c\n"], ["abc"]),
    "a letter is not cut in two": (["é\n".encode()[:1], "é\n".encode()[1:]], ["é"]),
    "other line ends of Unicode are none": (["\u2028\x0bc\n".encode()], ["\u2028c"]),
    "a long line is its end from the first blank on": ([b"0123456789 ab\n"], ["… ab"]),
    "the same if it comes in pieces": ([b"0123", b"456789 ", b"ab\n"], ["… ab"]),
    "a long line without a blank gives nothing": ([b"0123456789\n"], []),
    "the line behind a long one is whole": ([b"0123456789 ab\ncd ef\n"], ["… ab", "cd ef"]),
}


@pytest.mark.parametrize(("blocks", "want"), CASES.values(), ids=CASES)
def test_lines_are_cut(blocks: list[bytes], want: list[str]) -> None:
    cutter = LineCutter(6)
    assert [line for block in blocks for line in cutter.cut(block, 100).lines] == want


def test_an_hour_of_progress_bar_is_many_short_lines() -> None:
    bar = b"\x08" * 76 + b"\r\x1b[1m 2/90\x1b[0m loss: 1.3004"
    cut = LineCutter(64 * 1024).cut(bar * 10_000, 100_000)
    assert cut.dropped_bytes == 0
    assert len(cut.lines) == 9_999
    assert set(cut.lines) == {" 2/90 loss: 1.3004"}


def test_an_unfinished_line_is_kept_up_to_the_limit_and_the_rest_counted() -> None:
    cutter = LineCutter(1000)
    for _ in range(100):
        assert cutter.cut(b"x" * 999, 10).lines == ()
    assert len(cutter._kept) == 1000
    cut = cutter.cut(b" end\n", 10)
    assert cut.lines == ("… end",)
    assert (cut.dropped_lines, cut.dropped_bytes) == (1, 99_900)


def test_lines_beyond_the_limit_are_left_where_they_are() -> None:
    cutter = LineCutter(100)
    cut = cutter.cut(b"a\nb\nc\n", 2)
    assert (cut.lines, cut.consumed) == (("a", "b"), 4)
    assert cutter.cut(b"c\nd", 2).lines == ("c",)


def test_a_reader_that_starts_inside_a_line_skips_the_rest_of_it() -> None:
    cutter = LineCutter(100)
    cutter.enter()
    assert cutter.cut(b"of a line", 10).lines == ()
    cut = cutter.cut(b" that began before\nwhole\n", 10)
    assert cut.lines == ("whole",)
    assert (cut.dropped_lines, cut.dropped_bytes) == (1, 28)


def test_an_incomplete_line_of_a_deleted_file_is_counted() -> None:
    cutter = LineCutter(100)
    cutter.cut(b"half a line", 10)
    dropped = cutter.rotate()
    assert (dropped.dropped_lines, dropped.dropped_bytes) == (1, 11)
    assert cutter.cut(b"whole\n", 10).lines == ("whole",)


def test_binary_files_are_given_as_they_are() -> None:
    cutter = BytesCutter()
    cut = cutter.cut(b"\r\n\0\xff", 1)
    assert (cut.data, cut.lines, cut.consumed) == (b"\r\n\0\xff", (), 4)
    cutter.enter()
    assert cutter.restart().dropped_bytes == cutter.rotate().dropped_bytes == 0


BLOCK = st.lists(
    st.sampled_from(
        (
            b"a",
            b" b",
            b"\n",
            b"\n",
            b"\r",
            b"\t",
            b"\x1b[1m",
            "é".encode(),
            b"\x0b",
            b"\x00",
            b"x" * 9,
        )
    ),
    max_size=12,
).map(b"".join)


@given(st.lists(BLOCK, max_size=5), st.integers(1, 5))
def test_plain_lines_are_cut_as_all_others(blocks: list[bytes], most_lines: int) -> None:
    """What is cut line by line is the definition."""
    cutter, definition = LineCutter(12), LineCutter(12)
    for data in blocks:
        with patch.object(cutting, "plain_lines", lambda _: None):
            want = definition.cut(data, most_lines)
        assert cutter.cut(data, most_lines) == want
        assert vars(cutter) == vars(definition)
