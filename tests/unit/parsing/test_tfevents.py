"""Event files: scalars of every kind, and what is damaged, unfinished or of another kind."""

import struct

import pytest

from shared.parsing import tfevents
from shared.parsing.tfevents import MOST_RECORD_BYTES, TfEvents, fields, signed
from tests.unit.parsing import tfevents_files as files
from tests.unit.parsing.reading import values

FLOAT, DOUBLE, STRING = 1, 2, 7
ONE = files.field(2, files.field(1, 1))
TWO = files.field(2, files.field(1, 2))
TENSORS = {
    "a scalar's content": (files.field(1, FLOAT) + files.field(4, struct.pack("<f", 0.5)), 0.5),
    "one packed float": (files.field(1, FLOAT) + files.field(5, struct.pack("<f", 0.5)), 0.5),
    "a float that is not packed": (
        files.field(1, FLOAT) + files.varint(5 << 3 | 5) + struct.pack("<f", 0.5),
        0.5,
    ),
    "a double": (files.field(1, DOUBLE) + files.field(6, struct.pack("<d", 0.1)), 0.1),
    "a double's content": (files.field(1, DOUBLE) + files.field(4, struct.pack("<d", 0.1)), 0.1),
    "a vector of one": (
        files.field(1, FLOAT) + files.field(2, ONE) + files.field(5, struct.pack("<f", 0.5)),
        0.5,
    ),
    "a vector of two": (
        files.field(1, FLOAT) + files.field(2, TWO) + files.field(5, struct.pack("<f", 0.5)),
        None,
    ),
    "two floats": (files.field(1, FLOAT) + files.field(5, struct.pack("<2f", 1, 2)), None),
    "a text": (files.field(1, STRING) + files.field(8, b"hello"), None),
    "nothing": (b"", None),
}


@pytest.mark.parametrize(("body", "want"), TENSORS.values(), ids=TENSORS)
def test_a_tensor_of_one_number_is_a_scalar(body: bytes, want: float | None) -> None:
    data = files.VERSION + files.record(files.event(7, files.tensor("loss", body)))
    points, consumed = TfEvents().feed_bytes(data)
    assert values(points) == ([] if want is None else [("loss", want, 7)])
    assert consumed == len(data)


def test_a_record_that_is_not_complete_waits() -> None:
    first = files.VERSION + files.record(files.event(1, files.simple("loss", 0.5)))
    second = files.record(files.event(2, files.simple("loss", 0.25)))
    for cut in range(len(second)):
        parser = TfEvents()
        points, consumed = parser.feed_bytes(first + second[:cut])
        assert (len(points), consumed) == (1, len(first))
        assert values(parser.feed_bytes(second)[0]) == [("loss", 0.25, 2)]


def test_a_record_with_a_wrong_checksum_is_passed_over() -> None:
    bad = bytearray(files.record(files.event(1, files.simple("loss", 0.5))))
    bad[-6] ^= 1
    good = files.record(files.event(2, files.simple("loss", 0.25)))
    parser = TfEvents()
    points, consumed = parser.feed_bytes(bytes(bad) + good)
    assert values(points) == [("loss", 0.25, 2)]
    assert consumed == len(bad) + len(good)
    assert parser.problem == ""


def test_a_file_of_another_kind_is_reported_and_skipped_until_it_is_rewritten() -> None:
    parser = TfEvents()
    assert parser.feed_bytes(b"epoch,loss\n0,0.5\n") == ([], 17)
    assert "not a tfevents file" in parser.problem
    good = files.record(files.event(2, files.simple("loss", 0.25)))
    assert parser.feed_bytes(good) == ((), len(good))
    parser.reset()
    assert (len(parser.feed_bytes(good)[0]), parser.problem) == (1, "")


def test_a_huge_record_is_passed_over_without_keeping_it() -> None:
    image = files.record(files.event(1, files.tensor("image", bytes(MOST_RECORD_BYTES))))
    good = files.record(files.event(2, files.simple("loss", 0.25)))
    data = image + good
    parser = TfEvents()
    points, rest = [], b""
    for start in range(0, len(data), 100_000):
        rest += data[start : start + 100_000]
        found, consumed = parser.feed_bytes(rest)
        points += found
        rest = rest[consumed:]
        assert len(rest) < 100_000
    assert (values(points), rest) == ([("loss", 0.25, 2)], b"")
    assert len(parser.feed_bytes(data)[0]) == 1


DAMAGED = {
    "no message": b"\xff" * 20,
    "a field beyond the end": files.field(1, 1.0) + b"\x2a\x7f",
    "an unknown wire type": b"\x0b\x00",
    "a time of the wrong kind": files.field(1, 7) + files.field(5, b""),
    "a step of the wrong kind": files.field(2, b"x"),
    "a summary of the wrong kind": files.field(5, 7),
    "a value of the wrong kind": files.field(5, files.field(1, 7)),
    "a value without a tag": files.event(1, files.simple("loss", 0.5)[6:]),
    "a tag without end": files.event(1, files.simple("x" * 300, 0.5)),
    "a simple value of the wrong size": files.event(1, files.field(1, b"x") + files.field(2, b"y")),
    "a tensor that is no message": files.event(1, files.tensor("x", b"\xff")),
}


@pytest.mark.parametrize("body", DAMAGED.values(), ids=DAMAGED)
def test_a_record_that_is_no_event_gives_nothing(body: bytes) -> None:
    data = files.record(body)
    assert TfEvents().feed_bytes(data) == ([], len(data))


def test_times_steps_and_directories() -> None:
    data = files.record(files.event(-3, files.simple("loss", 0.5), wall_time=float("nan")))
    (point,), _ = TfEvents(directory="validation").feed_bytes(data)
    assert (point.metric, point.step, point.at_seconds) == ("val_loss", -3, None)
    (point,), _ = TfEvents(directory="train").feed_bytes(data)
    assert point.metric == "loss"


def test_several_values_of_one_event_are_all_read() -> None:
    data = files.record(files.event(1, files.simple("a", 1), files.simple("b", 2)))
    assert values(TfEvents().feed_bytes(data)[0]) == [("a", 1, 1), ("b", 2, 1)]


def test_the_checksum_is_that_of_the_standard() -> None:
    """RFC 3720, B.4, masked as in TensorFlow."""
    for data, crc in ((bytes(32), 0x8A9136AA), (b"123456789", 0xE3069283)):
        rotated = (crc >> 15 | crc << 17) & 0xFFFFFFFF
        assert tfevents.masked_crc32c(data) == (rotated + 0xA282EAD8) & 0xFFFFFFFF


def test_numbers_of_protocol_buffers() -> None:
    assert dict(fields(files.field(1, 300) + files.field(2, -1))) == {1: 300, 2: 2**64 - 1}
    assert signed(2**64 - 1) == -1
    for broken in (b"\x08\x80", b"\x08" + b"\x80" * 11):
        with pytest.raises(ValueError, match="without an end"):
            dict(fields(broken))
