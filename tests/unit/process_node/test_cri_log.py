import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devcluster.process_node.cri_log import LINE_BYTES, LineCutter, LogFile, log_path, stamp

LONG = b"x" * (LINE_BYTES + 5)
CASES: dict[str, tuple[list[bytes], list[bytes]]] = {
    "a line": ([b"hello\n"], [b"F hello"]),
    "a line in two pieces": ([b"hel", b"lo\n"], [b"F hello"]),
    "two lines at once": ([b"a\nb\n"], [b"F a", b"F b"]),
    "an empty line": ([b"\n"], [b"F "]),
    "no line end": ([b"hello"], [b"F hello"]),
    "a long line": ([LONG + b"\n"], [b"P " + LONG[:LINE_BYTES], b"F xxxxx"]),
    "a long line in pieces": ([LONG, b"y\n"], [b"P " + LONG[:LINE_BYTES], b"F xxxxxy"]),
    "exactly the limit": ([LONG[:LINE_BYTES] + b"\n"], [b"F " + LONG[:LINE_BYTES]]),
    "nothing": ([], []),
}


def written(chunks: list[bytes]) -> list[bytes]:
    cutter = LineCutter("stdout")
    text = b"".join(cutter.feed(chunk, 1.5) for chunk in chunks) + cutter.close(1.5)
    prefix = b"1970-01-01T00:00:01.500000000Z stdout "
    lines = text.split(b"\n")
    assert lines.pop() == b""
    assert all(line.startswith(prefix) for line in lines)
    return [line.removeprefix(prefix) for line in lines]


@pytest.mark.parametrize(("chunks", "want"), CASES.values(), ids=CASES)
def test_output_becomes_tagged_lines(chunks: list[bytes], want: list[bytes]) -> None:
    assert written(chunks) == want


@given(st.lists(st.binary(max_size=40_000), max_size=6))
def test_joining_the_parts_gives_the_output_back(chunks: list[bytes]) -> None:
    lines = written(chunks)
    joined = b"".join(line[2:] + (b"\n" if line.startswith(b"F") else b"") for line in lines)
    whole = b"".join(chunks)
    assert joined == (whole if whole.endswith(b"\n") or not whole else whole + b"\n")


def test_a_stamp_has_nine_digits() -> None:
    assert re.fullmatch(r"2001-09-09T01:46:40\.25\d{7}Z", stamp(1e9 + 0.25))


def test_the_path_is_the_kubelets(tmp_path: Path) -> None:
    path = log_path(tmp_path, ("ns", "p", "uid"), "main", 3)
    assert path == tmp_path / "logs/pods/ns_p_uid/main/3.log"
    log = LogFile(path)
    log.write(b"one\n")
    assert path.read_bytes() == b"one\n"
    log.close()
