"""Histories that are read anew."""

import json

import pytest

from agent.parsing.trainer_state import TrainerState
from tests.unit.agent.parsing.reading import values


def _state(*entries: dict[str, object], **more: object) -> bytes:
    return json.dumps({"log_history": entries, "max_steps": 100, **more}).encode()


ONE, TWO = {"step": 5, "loss": 0.5, "epoch": 0.1}, {"step": 10, "loss": 0.4, "epoch": 0.2}


def test_each_entry_is_told_once() -> None:
    parser = TrainerState()
    assert values(parser.feed_document(_state(ONE))) == [("loss", 0.5, 5)]
    assert parser.feed_document(_state(ONE)) == []
    assert values(parser.feed_document(_state(ONE, TWO))) == [("loss", 0.4, 10)]


def test_another_history_is_told_from_its_beginning() -> None:
    parser = TrainerState()
    parser.feed_document(_state(ONE, TWO))
    assert values(parser.feed_document(_state(ONE))) == [("loss", 0.5, 5)]
    assert values(parser.feed_document(_state(TWO))) == [("loss", 0.4, 10)]


def test_nan_in_the_history_does_not_make_it_another_one() -> None:
    parser = TrainerState()
    entry = {"step": 5, "loss": float("nan")}
    assert len(parser.feed_document(_state(entry))) == 1
    assert values(parser.feed_document(_state(entry, TWO))) == [("loss", 0.4, 10)]


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
def test_what_is_no_history_tells_nothing(data: bytes) -> None:
    assert not TrainerState().feed_document(data)


def test_a_half_written_file_does_not_disturb_the_next_reading() -> None:
    parser = TrainerState()
    parser.feed_document(_state(ONE))
    parser.feed_document(_state(ONE, TWO)[:-3])
    assert values(parser.feed_document(_state(ONE, TWO))) == [("loss", 0.4, 10)]


def test_a_run_without_a_known_end() -> None:
    (point,) = TrainerState().feed_document(_state(ONE, max_steps=-1))
    assert point.total_steps is None
