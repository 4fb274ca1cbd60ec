from hypothesis import given
from hypothesis import strategies as st

from shared.kube.client import LineSplitter


@given(st.lists(st.binary(max_size=20)), st.data())
def test_lines_do_not_depend_on_the_cuts_of_the_stream(
    lines: list[bytes], data: st.DataObject
) -> None:
    lines = [line.replace(b"\n", b"") for line in lines]
    whole = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    chunks = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    splitter = LineSplitter()
    assert [line for chunk in chunks for line in splitter.feed(chunk)] == [x for x in lines if x]
    assert not splitter.rest


def test_text_without_a_newline_is_no_line_yet() -> None:
    splitter = LineSplitter()
    assert list(splitter.feed(b"one\ntw")) == [b"one"]
    assert splitter.rest == b"tw"


def test_a_very_long_line_in_small_chunks_is_one_line() -> None:
    splitter = LineSplitter()
    chunks = [b"x" * 2**16] * 64 + [b"\n"]
    (line,) = (line for chunk in chunks for line in splitter.feed(chunk))
    assert len(line) == 2**22
