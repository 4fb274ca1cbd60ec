"""The metric and file that count for a pod."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tracking.choice import Choice, choose, why_no_choice
from tests.unit.agent.tracking.streams import NOW, GivenSource, loss

NAN = float("nan")


def file(
    name: str, first: float, last: float, *, metric: str = "loss", count: int = 3
) -> GivenSource:
    """A file with values of a metric between two times."""
    source = GivenSource(name)
    gap = (last - first) / max(1, count - 1)
    points = (loss(n, 1.0, NOW + first + n * gap, metric) for n in range(count))
    source.say(*points, backlog=True)
    return source


def speaks(found: Choice | None) -> tuple[str, str, int]:
    assert found is not None
    return found.source.name, found.metric, found.attempt


def test_nothing_is_chosen_before_there_is_a_value() -> None:
    assert choose([], None) is None
    assert choose([GivenSource()], None) is None
    assert choose([file("a", -10, 0)], "other") is None


def test_the_first_of_simultaneous_ranks_counts() -> None:
    ranks = [file("rank-0", -100, -1), file("rank-1", -101, -2), file("rank-2", -99, 0)]
    assert speaks(choose(ranks, None)) == ("rank-1", "loss", 1)


def test_a_file_that_began_when_the_others_had_ended_is_a_new_attempt() -> None:
    files = [file("version_10", -20, 0), file("version_8", -100, -60), file("version_9", -50, -30)]
    assert speaks(choose(files, None)) == ("version_10", "loss", 3)


def test_a_new_file_counts_once_it_has_two_values() -> None:
    old, new = file("old", -100, -60), file("new", -20, -20, count=1)
    assert speaks(choose([old, new], None)) == ("old", "loss", 1)
    new.say(loss(5, 1.0, NOW))
    assert speaks(choose([old, new], None)) == ("new", "loss", 2)


def test_the_preferred_metric_counts_in_any_file() -> None:
    train, validation = file("train", -100, 0), file("eval", -90, 0, metric="val_loss")
    assert speaks(choose([train, validation], None)) == ("eval", "val_loss", 1)


def test_a_single_value_of_validation_does_not_take_the_place_of_many_of_training() -> None:
    train, validation = file("train", -100, 0), file("eval", -90, -90, metric="val_loss", count=1)
    assert speaks(choose([train, validation], None)) == ("train", "loss", 1)


def test_the_first_value_counts_without_another() -> None:
    assert speaks(choose([file("a", 0, 0, count=1)], None)) == ("a", "loss", 1)


NEVER_A_NUMBER = {
    "training first": ("loss", "val_loss"),
    "validation first": ("val_loss", "loss"),
}


@pytest.mark.parametrize("names", NEVER_A_NUMBER.values(), ids=NEVER_A_NUMBER)
def test_a_metric_that_never_was_a_number_is_not_chosen_beside_one_that_was(names) -> None:
    source = GivenSource()
    for step in range(4):
        source.say(*(loss(step, NAN if n == "val_loss" else 1.0, name=n) for n in names))
        assert speaks(choose([source], None)) == ("a", "loss", 1)
    source.say(*(loss(n, 0.5, name="val_loss") for n in (5, 6)), loss(7, NAN, name="val_loss"))
    found = choose([source], None)
    assert speaks(found) == ("a", "val_loss", 1)
    assert found is not None
    assert found.track.diverged


@pytest.mark.parametrize("accuracy", [0.1, NAN])
def test_where_no_loss_ever_was_a_number_the_preferred_one_has_diverged(accuracy: float) -> None:
    source = GivenSource()
    for step in range(3):
        source.say(loss(step, NAN), loss(step, NAN, name="val_loss"))
        source.say(loss(step, accuracy, name="val_acc"))
    found = choose([source], None)
    assert speaks(found) == ("a", "val_loss", 1)
    assert found is not None
    assert found.track.diverged


def test_the_known_names_are_listed() -> None:
    source = GivenSource()
    assert why_no_choice([source], None) == ""
    source.say(loss(1, 1.0, name="lr"), loss(1, 1.0, name="accuracy"))
    assert why_no_choice([source], None).endswith("name one with metric=…: accuracy, lr")
    assert why_no_choice([source], "f1") == "there is no series 'f1'; there are: accuracy, lr"


def test_of_series_that_are_equally_good_the_user_must_name_one() -> None:
    source = GivenSource()
    for step in range(3):
        source.say(loss(step, 1.0, name="Loss_D"), loss(step, 2.0, name="Loss_G"))
    assert choose([source], None) is None
    want = "several series are equally good, name one with metric=…: Loss_D, Loss_G"
    assert why_no_choice([source], None) == want
    assert choose([source], "Loss_G") is None  # it is followed from the start where it is named


def test_equally_good_series_do_not_hide_a_better_one() -> None:
    source = GivenSource()
    for step in range(3):
        names = ("Loss_D", "Loss_G", "total_loss")
        source.say(*(loss(step, 1.0, name=name) for name in names))
    assert speaks(choose([source], None)) == ("a", "total_loss", 1)


def test_lines_without_a_value_are_reported_in_steps() -> None:
    source = GivenSource()
    source.say(lines=99)
    assert why_no_choice([source], None) == ""
    source.say(lines=713)
    want = "100 lines or more read, no values found: set format=… or regex=…"
    assert why_no_choice([source], None) == want
    source.given.hint = r"'loss\W{1,3}(?P<value>[-+.\deE]+)'"
    assert why_no_choice([source], None).endswith(f"did you mean regex={source.given.hint}")
    source.say(loss(1, 1.0))
    assert "no values" not in why_no_choice([source], None)


VALUES = st.tuples(
    st.sampled_from(("loss", "val_loss", "test_loss", "lr", "reward")),
    st.sampled_from((1.0, 2.0, 3.0, 4.0)),
    st.sampled_from((0, 1)),
)


@given(st.lists(VALUES, max_size=20), st.sampled_from((None, "loss", "val_loss")))
def test_a_choice_that_is_kept_is_the_one_that_would_be_made(
    values: list[tuple[str, float, int]], stated: str | None
) -> None:
    sources, choice = [GivenSource("a"), GivenSource("b")], None
    for number, (name, at, source) in enumerate(values):
        sources[source].say(loss(at, 1.0, name=name), now=NOW + number)
        for read in ([sources[0]], sources):
            choice, want = choose(read, stated, choice), choose(read, stated)
            assert (choice is None) == (want is None)
            assert choice is None or speaks(choice) == speaks(want)
