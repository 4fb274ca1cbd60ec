"""Files of experiment trackers: Weights & Biases and MLflow.

The fixtures are made by wandb 0.31 (offline; the header, the history, the summaries and the exit)
and mlflow 3.17 (``MLFLOW_ALLOW_FILE_STORE=true``).
"""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.parsing.base import Parser, Point, RecordParser
from shared.parsing.choosing import parser_for
from shared.parsing.wandb import Wandb
from tests.unit.parsing import tfevents_files as files
from tests.unit.parsing.reading import LOGS, read, values

RUN = (LOGS / "run-offline.wandb").read_bytes()
HEADER = b":W&B\xe1\xbe\x00"
BLOCK = 32 * 1024


def fed(data: bytes, *sizes: int) -> list[Point]:
    """Points of a file that grows by these sizes, the last one again and again."""
    parser, points, rest, at = Wandb(), list[Point](), b"", 0
    sizes_left = list(sizes)
    while at < len(data):
        size = sizes_left.pop(0) if len(sizes_left) > 1 else sizes_left[0]
        piece = rest + data[at : at + size]
        at += size
        new, consumed = parser.feed_bytes(piece)
        rest = piece[consumed:]
        points += new
    return points


def history(step: int, **numbers: str) -> bytes:
    """A record of the history; numbers as JSON."""
    items = [
        files.field(2, name.encode()) + files.field(16, text.encode())
        for name, text in {"_step": str(step), **numbers}.items()
    ]
    return files.field(2, b"".join(files.field(1, item) for item in items))


def filed(*records: bytes) -> bytes:
    """A file with these records, in parts where a block ends."""
    out = bytearray(HEADER)
    for record in records:
        rest, is_first = record, True
        while is_first or rest:
            left = BLOCK - len(out) % BLOCK
            if left < 7:
                out += bytes(left)
                left = BLOCK
            part, rest = rest[: left - 7], rest[left - 7 :]
            kind = (1 if is_first else 4) if not rest else (2 if is_first else 3)
            checksum = zlib.crc32(bytes([kind]) + part)
            out += struct.pack("<IHB", checksum, len(part), kind) + part
            is_first = False
    return bytes(out)


def test_a_real_file_is_read() -> None:
    points = fed(RUN, len(RUN))
    losses = values(points, "train/loss")
    assert losses[:2] == [("train/loss", 3.0, 0.0), ("train/loss", 1.5, 1.0)]
    assert (len(losses), losses[-1][2]) == (40, 39.0)
    assert [step for _, _, step in values(points, "val_loss")] == [9.0, 19.0, 29.0, 39.0]
    assert values(points, "nested.a") == [("nested.a", 1.5, 40.0)]
    assert {point.metric for point in points} == {"train/loss", "lr", "val_loss", "nested.a"}
    assert points[0].at_seconds == pytest.approx(1795483857.9, abs=0.1)


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=8))
def test_a_file_that_grows_gives_the_same_points(sizes: list[int]) -> None:
    assert fed(RUN, *sizes) == fed(RUN, len(RUN))


def test_records_that_cross_blocks_are_read() -> None:
    text = '"' + "x" * 150 + '"'
    records = [history(n, loss=f"{n}.5", note=text) for n in range(1000)]
    data = filed(*records)
    assert len(data) > 5 * BLOCK
    assert [p.value for p in fed(data, len(data))] == [n + 0.5 for n in range(1000)]
    assert fed(data, 777) == fed(data, len(data))


def test_the_programs_own_step_comes_before_that_of_wandb() -> None:
    data = filed(history(7, **{"train/global_step": "700", "train/loss": "0.5"}))
    assert values(fed(data, 9)) == [("train/loss", 0.5, 700.0)]


def test_of_values_that_are_no_numbers_only_nan_is_read() -> None:
    (point,) = fed(filed(history(1, loss="NaN", table='{"a": 1}', note='"x"', flag="true")), 10)
    assert point.metric == "loss"
    assert point.value != point.value


def test_a_damaged_record_is_skipped() -> None:
    data = bytearray(filed(history(1, loss="1"), history(2, loss="2"), history(3, loss="3")))
    at = data.index(b"2", data.index(b"1", 30) + 30)
    data[at] ^= 1
    steps = [point.step for point in fed(bytes(data), 20)]
    assert steps in ([1.0, 3.0], [2.0, 3.0])


def test_a_record_that_is_too_large_is_skipped() -> None:
    large = history(1, loss="1", table='"' + "x" * 200_000 + '"')
    assert [p.step for p in fed(filed(large, history(2, loss="2")), 40_000)] == [2.0]


def test_another_file_is_a_problem() -> None:
    parser = Wandb()
    assert parser.feed_bytes(b"PK\x03\x04 something else") == ([], 19)
    assert parser.problem == "this is not a file of Weights & Biases"


@given(st.binary(max_size=400))
def test_no_bytes_behind_the_header_raise(data: bytes) -> None:
    Wandb().feed_bytes(HEADER + data)


def test_a_new_file_begins_with_its_header() -> None:
    parser = Wandb()
    parser.feed_bytes(RUN)
    parser.reset()
    assert len(parser.feed_bytes(RUN)[0]) == len(fed(RUN, len(RUN)))


MLFLOW = {
    "mlruns/0/5f9c/metrics/acc": ("acc", 9.0, 6),
    "mlruns/0/5f9c/metrics/val/loss": ("val/loss", 40.0, 5),
}


@pytest.mark.parametrize(("name", "want"), MLFLOW.items())
def test_files_of_mlflow_are_named_after_their_metric(
    name: str, want: tuple[str, float, int]
) -> None:
    parser = parser_for("auto", file_name=f"team/train/{name}")
    assert isinstance(parser, Parser)
    points = read(parser, (LOGS / name).read_bytes())
    assert (points[-1].metric, points[-1].step, len(points)) == want
    assert points[0].at_seconds == pytest.approx(1795483809.73, abs=0.01)


def test_other_lines_are_no_values_of_mlflow() -> None:
    parser = parser_for("mlflow", file_name="loss")
    assert isinstance(parser, Parser)
    assert read(parser, "1700000000000 0.5\n1700000000000 x 3\n\n1 2 3 4\n") == []


def test_the_suffix_gives_the_format() -> None:
    assert isinstance(parser_for("auto", file_name="wandb/run-1/run-1.wandb"), RecordParser)
