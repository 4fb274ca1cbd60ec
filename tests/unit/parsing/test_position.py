"""Where a line is in the run, if its counters alone do not say."""

import pytest

from shared.parsing.choosing import Detector
from tests.unit.parsing.reading import read


def placed(text: str) -> list[tuple[float, float | None, str]]:
    """Value, step and unit of each value of a loss."""
    detector = Detector()
    points = [*read(detector, text), *detector.read_early()]
    return [(p.value, p.step, p.unit) for p in points if "loss" in p.metric.lower()]


PARTS = "".join(f"Epoch: {e}| train loss: 0.{e}{i}\n" for e in (1, 2, 3) for i in range(1, 6))


def test_of_several_values_of_an_epoch_each_counts_and_the_first_has_the_place() -> None:
    found = placed(PARTS)
    assert [value for value, _, _ in found][-5:] == [0.31, 0.32, 0.33, 0.34, 0.35]
    assert [step for _, step, _ in found][-5:] == [3, None, None, None, None]


def test_other_values_of_an_epoch_may_be_of_several_things() -> None:
    text = "".join(
        f"Epoch {e}, val_loss: 0.{e}\n"
        + "".join(f"after {m}mins: rmse: {m}.5\n" for m in (1, 2, 3))
        for e in range(1, 5)
    )
    points = read(Detector(), text)
    assert [p.step for p in points if p.metric == "rmse"][-3:] == [4, 4, 4]


def test_two_values_of_an_epoch_may_be_of_two_ranks() -> None:
    found = placed("".join(f"epoch {e} loss 0.{e}{i}\n" for e in (1, 2, 3) for i in (1, 2)))
    assert [step for _, step, _ in found] == [1, 1, 2, 2, 3, 3]


def test_batches_below_an_epoch_that_is_printed_at_their_end() -> None:
    batches = "".join(f"epoch: {{0}}, batch_id: {i}, loss: 0.{i}5\n" for i in (0, 5, 9))
    text = "".join(batches.format(e) + f"epoch: {e} done, loss: 0.{e}7\n" for e in (0, 1, 2, 3))
    assert placed(text)[-4:] == [
        (0.05, 3, "epoch"),
        (0.55, None, "epoch"),
        (0.95, None, "epoch"),
        (0.37, None, "epoch"),
    ]


GLOBAL = {
    "steps that go on over the end of an epoch": [(1, 10), (1, 20), (2, 30), (2, 40), (3, 50)],
    "steps that go on from the middle of a run": [(7, 810), (7, 820), (8, 830), (8, 840)],
    "a step that is printed at the end of one epoch and the begin of the next": [
        *((1, 10), (1, 20), (2, 20), (2, 30), (3, 30), (3, 40)),
    ],
}


@pytest.mark.parametrize("places", GLOBAL.values(), ids=GLOBAL)
def test_steps_of_the_run_beside_an_epoch_stay_steps(places: list[tuple[int, int]]) -> None:
    found = placed("".join(f"epoch {e} step {s} loss 0.{s}\n" for e, s in places))
    assert [(step, unit) for _, step, unit in found] == [(s, "step") for _, s in places]
