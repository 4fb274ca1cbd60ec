"""Numbers out of the kernel's texts."""

import pytest

from agent.sampling.kernel_files import number, pressure_ratio, value

STAT = b"anon 1\nfile 22\ninactive_file 333\ntotal_inactive_file 4444"

VALUES: dict[str, tuple[bytes | None, bytes, int | None]] = {
    "the first line": (STAT, b"anon", 1),
    "a line in between": (STAT, b"inactive_file", 333),
    "the last line, without its end": (STAT, b"total_inactive_file", 4444),
    "a key that only ends alike": (STAT, b"file", 22),
    "a missing key": (STAT, b"slab", None),
    "a missing file": (None, b"anon", None),
    "an empty file": (b"", b"anon", None),
    "a value that is no number": (b"anon max\n", b"anon", None),
}


@pytest.mark.parametrize(("data", "key", "wanted"), VALUES.values(), ids=VALUES)
def test_the_value_of_a_key(data: bytes | None, key: bytes, wanted: int | None) -> None:
    assert value(data, key) == wanted


@pytest.mark.parametrize(
    ("data", "wanted"),
    [(b"12\n", 12), (b"max\n", None), (b"-1\n", None), (b"", None), (None, None)],
)
def test_the_only_number_of_a_file(data: bytes | None, wanted: int | None) -> None:
    assert number(data) == wanted


PRESSURES: dict[str, tuple[bytes | None, float | None]] = {
    "some of both lines": (
        b"some avg10=12.50 avg60=1.00 avg300=2.00 total=3\nfull avg10=99\n",
        0.125,
    ),
    "never more than 1": (b"some avg10=100.01 avg60=0\n", 1.0),
    "no file": (None, None),
    "another text": (b"full avg10=1.00\n", None),
    "no number": (b"some avg10=x avg60=0\n", None),
    "nothing after it": (b"some avg10=", None),
}


@pytest.mark.parametrize(("data", "wanted"), PRESSURES.values(), ids=PRESSURES)
def test_pressure_is_a_ratio(data: bytes | None, wanted: float | None) -> None:
    assert pressure_ratio(data) == wanted
