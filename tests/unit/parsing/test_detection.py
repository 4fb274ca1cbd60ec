"""A format is detected after three lines that agree, and then kept."""

import pytest

from shared.parsing.choosing import MOST_RANKS, Detector
from shared.parsing.detecting import AGREEING_LINES
from tests.unit.parsing.reading import read, values

KERAS = "9/9 - 3s - 33ms/step - loss: {}\n"
JSON = '{{"step": {}, "loss": 0.5}}\n'


def test_two_lines_that_agree_are_not_enough() -> None:
    detector = Detector()
    for i in range(AGREEING_LINES - 1):
        assert read(detector, JSON.format(i)) == []
    assert detector.format == "auto"


def test_the_third_line_brings_the_points_of_the_first_two() -> None:
    detector = Detector()
    read(detector, JSON.format(1) + "something else\n" + JSON.format(2))
    assert [step for _, _, step in values(read(detector, JSON.format(3)))] == [1, 2, 3]
    assert detector.format == "jsonl"


LOSS = '{{"step": {}, "loss": {}}}\n'


def test_at_the_end_of_a_log_a_line_with_its_step_and_loss_is_read() -> None:
    detector = Detector()
    assert read(detector, LOSS.format(1, 0.9)) == []
    assert values(detector.read_early()) == [("loss", 0.9, 1)]
    assert (detector.format, list(detector.read_early())) == ("jsonl", [])


def test_what_was_read_early_is_not_read_again() -> None:
    detector = Detector()
    found = []
    for step in range(1, 6):
        found += read(detector, LOSS.format(step, step / 10))
        found += detector.read_early()
    assert [step for _, _, step in values(found)] == [1, 2, 3, 4, 5]


def test_a_format_that_agrees_replaces_one_that_was_read_early() -> None:
    detector = Detector()
    read(detector, "step 1 loss 0.9\n")
    assert (len(detector.read_early()), detector.format) == (1, "printed")
    text = "".join(f"Epoch {i}/9\n" + KERAS.format(f"0.{i}") for i in range(1, 4))
    assert values(read(detector, text)) == [("loss", 0.3, 3)]
    assert detector.format == "keras"


NOT_EARLY = {
    "a step that comes again": LOSS.format(1, 0.9) + LOSS.format(1, 0.8),
    "a step that goes back": LOSS.format(5, 0.9) + LOSS.format(1, 0.8),
    "a whole number": LOSS.format(1, 1),
    "no loss": '{"step": 1, "accuracy": 0.9}\n',
    "a part of a loss": '{"step": 1, "heatmap_loss_k2": 0.9}\n',
    "several losses": '{"step": 1, "loss_a": 0.9, "loss_b": 0.8}\n',
    "the end of a fit, after which others may come": "Epoch 1/1\n" + KERAS.format(0.3),
    "two formats": LOSS.format(1, 0.9) + "{'loss': 0.8, 'epoch': 0.1}\n",
}


@pytest.mark.parametrize("text", NOT_EARLY.values(), ids=NOT_EARLY)
def test_lines_that_are_not_sure_are_not_read_early(text: str) -> None:
    detector = Detector()
    read(detector, text)
    assert list(detector.read_early()) == []


def test_lines_of_several_formats_do_not_add_up() -> None:
    detector = Detector()
    assert read(detector, JSON.format(1) + KERAS.format(1) + JSON.format(2)) == []
    assert detector.format == "auto"


def test_a_detected_format_is_kept() -> None:
    detector = Detector()
    read(detector, "".join(JSON.format(i) for i in range(3)))
    assert read(detector, "Epoch 1/2\n" + KERAS.format(1) * 9) == []
    assert detector.format == "jsonl"


def test_lines_before_the_detection_are_not_lost() -> None:
    text = "Epoch 1/9\n" + KERAS.format(3) + "Epoch 2/9\n" + KERAS.format(2)
    text += "Epoch 3/9\n" + KERAS.format(1)
    assert values(read(Detector(), text)) == [("loss", 3, 1), ("loss", 2, 2), ("loss", 1, 3)]


def test_a_bar_that_repeats_its_values_is_detected() -> None:
    bar = "Epoch 0:  9{0}%|#####| 9{0}/100 [00:33<00:03, 27.7it/s, loss=0.223, v_num=7]\n"
    detector = Detector()
    points = read(detector, "".join(bar.format(i) for i in range(3)))
    assert (detector.format, values(points)) == ("lightning", [("loss", 0.223, 0.9)])


def test_of_several_ranks_the_lowest_that_prints_is_followed() -> None:
    lines = [f"[default{rank}]:" + JSON.format(step) for step in range(6) for rank in (3, 1)]
    detector = Detector()
    points = read(detector, "".join(lines))
    assert [step for _, _, step in values(points)][-4:] == [2, 3, 4, 5]
    assert detector.format == "torchrun"
    lower = "".join("[default0]:" + JSON.format(step) for step in range(6, 9))
    assert [step for _, _, step in values(read(detector, lower))] == [6, 7, 8]
    assert read(detector, lines[-1]) == []


def test_a_prefix_for_every_line_does_not_fill_the_memory() -> None:
    detector = Detector()
    read(detector, "".join(f"[default{i}]:x\n" for i in range(1000)))
    assert len(detector._ranks) == MOST_RANKS


def test_with_the_format_torchrun_the_program_format_is_detected() -> None:
    detector = Detector(is_torchrun=True)
    assert detector.format == "torchrun"
    assert len(read(detector, "".join("[rank0]: " + JSON.format(i) for i in range(3)))) == 3
