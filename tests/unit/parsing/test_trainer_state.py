"""Histories that are read anew."""

import json

import pytest

from shared.errors import MalformedError
from shared.parsing import json_scan
from shared.parsing.trainer_state import LONGEST_ENTRY, MOST_ENTRIES, TrainerState
from tests.unit.parsing.reading import fed, values


def _state(*entries: dict[str, object], **more: object) -> bytes:
    return json.dumps({"log_history": entries, "max_steps": 100, **more}).encode()


ONE, TWO = {"step": 5, "loss": 0.5, "epoch": 0.1}, {"step": 10, "loss": 0.4, "epoch": 0.2}


def test_each_entry_is_returned_once() -> None:
    parser = TrainerState()
    assert values(fed(parser, _state(ONE))) == [("loss", 0.5, 5)]
    assert fed(parser, _state(ONE)) == []
    assert values(fed(parser, _state(ONE, TWO))) == [("loss", 0.4, 10)]


def test_another_history_is_returned_from_its_beginning() -> None:
    parser = TrainerState()
    fed(parser, _state(ONE, TWO))
    assert values(fed(parser, _state(ONE))) == [("loss", 0.5, 5)]
    assert values(fed(parser, _state(TWO))) == [("loss", 0.4, 10)]


def test_nan_in_the_history_does_not_make_it_another_one() -> None:
    parser = TrainerState()
    entry = {"step": 5, "loss": float("nan")}
    assert len(fed(parser, _state(entry))) == 1
    assert values(fed(parser, _state(entry, TWO))) == [("loss", 0.4, 10)]


NOTHING = {
    "half written": _state(ONE)[:-5],
    "empty": b"",
    "no object": b"[]",
    "no history": b"{}",
    "a history that is no list": b'{"log_history": {}}',
    "entries that are none": _state("x", {"loss": 1}, {"step": None, "loss": 1}),  # type: ignore[arg-type]
    "the summary of the run": _state({"step": 10, "train_loss": 0.4, "train_runtime": 3.1}),
    "no text": b"\xff\xfe",
    "deeper than anybody writes": b'{"a":' * 100_000,
}


@pytest.mark.parametrize("data", NOTHING.values(), ids=NOTHING)
def test_a_file_without_a_history_gives_no_point(data: bytes) -> None:
    assert not fed(TrainerState(), data)


def test_a_half_written_file_does_not_disturb_the_next_reading() -> None:
    parser = TrainerState()
    fed(parser, _state(ONE))
    fed(parser, _state(ONE, TWO)[:-3])
    assert values(fed(parser, _state(ONE, TWO))) == [("loss", 0.4, 10)]


def test_a_run_without_a_known_end() -> None:
    (point,) = fed(TrainerState(), _state(ONE, max_steps=-1))
    assert point.total_steps is None


PIECE = 64 * 1024
REFUSED = {
    "levels without end": (b'{"a":' * 100_000, "nested more than 32 levels deep"),
    "lists without end": (b"[" * 100_000, "nested more than 32 levels deep"),
    "entries without end": (
        b'{"log_history": [' + b"{}," * (json_scan.MOST_BRACKETS + 1),
        "more than 1000000 lists and objects",
    ),
    "a string without end": (b'{"a": "' + b"x" * 2 * PIECE, "a string of more than 65536 bytes"),
    "a number of a million digits": (b'{"max_steps": ' + b"9" * 10**6, "of keys and values"),
    "a million keys": (b",".join(b'"k%d": 1' % n for n in range(10**6)), "of keys and values"),
    "a bracket that closes nothing": (b'{"log_history": [}]}', "at byte 17 closes nothing"),
    "a file that ends too soon": (b'{"log_history": [{"step": 1', "incomplete"),
    "an empty file": (b"", "incomplete"),
    "a list": (b'[{"step": 1}]', "not a JSON object"),
    "a number of 5000 digits": (b'{"max_steps": ' + b"9" * 5000 + b"}", "not a JSON object"),
    "no history": (b'{"max_steps": 5}', "without a list log_history"),
    "a history that is an object": (b'{"log_history": {}}', "without a list log_history"),
}


@pytest.mark.parametrize(("data", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_file_is_refused_with_the_reason_and_little_of_it_is_kept(
    data: bytes, reason: str
) -> None:
    """(defect A4)"""
    parser = TrainerState()
    scan = parser.scan()
    kept = scan.held_bytes

    def go_through() -> None:
        for at in range(0, len(data), PIECE):
            scan.feed(data[at : at + PIECE])
        list(parser.points(scan, lambda _, __: b""))

    with pytest.raises(MalformedError, match=reason):
        go_through()
    assert scan.held_bytes <= kept + 4 * PIECE


def test_the_last_entries_of_a_long_history_are_returned() -> None:
    """(defect A4)"""
    entries = [{"step": n, "loss": 1.0} for n in range(MOST_ENTRIES + 100)]
    points = fed(TrainerState(), _state(*entries), PIECE)
    assert [point.step for point in points] == list(range(100, MOST_ENTRIES + 100))
    wide = [{"step": n, "loss": 1.0, "note": "x" * 10_000} for n in range(1000)]
    points = fed(TrainerState(), _state(*wide), PIECE)
    assert 150 < len(points) < 250
    assert points[-1].step == 999


def test_an_entry_that_is_too_long_is_passed_over() -> None:
    long = {"step": 1, "loss": 1.0, "note": "x" * LONGEST_ENTRY}
    assert values(fed(TrainerState(), _state(long, TWO), PIECE)) == [("loss", 0.4, 10)]


def test_a_history_that_grew_beyond_the_limit_is_returned_from_the_limit_on() -> None:
    parser = TrainerState()
    fed(parser, _state(ONE))
    later = [{"step": n, "loss": 1.0} for n in range(10, MOST_ENTRIES + 100)]
    assert len(fed(parser, _state(ONE, *later), PIECE)) == MOST_ENTRIES
