"""A format is detected after three lines that agree, and then kept."""

from shared.parsing.choosing import AGREEING_LINES, MOST_RANKS, Detector
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
