"""Utilities and trainings are read from the annotations of a job."""

import pytest

from extender.core.cluster import training_spec, utility
from extender.core.cluster.training_spec import Training
from extender.core.cluster.utility import StatedSigmoid, Steps
from shared.errors import InputError

UTILITIES = {
    "a sigmoid, its time a Go duration": ("sigmoid:100,2,4h", StatedSigmoid(100, 2, 14400)),
    "one without a decay": ("sigmoid:10,0,90s", StatedSigmoid(10, 0, 90)),
    "steps": ("steps:2h=100,4h=50", Steps(((7200, 100), (14400, 50)))),
    "with blanks": ("sigmoid: 1.5, .5, 1h30m", StatedSigmoid(1.5, 0.5, 5400)),
}
NO_UTILITIES = {
    "nothing": "",
    "another kind": "linear:3",
    "a number missing": "sigmoid:100,2",
    "a priority of 0": "sigmoid:0,2,4h",
    "a negative decay": "sigmoid:100,-2,4h",
    "a time without a unit": "sigmoid:100,2,4",
    "deadlines that fall": "steps:4h=100,2h=50",
    "values that rise": "steps:2h=50,4h=100",
    "a step of value 0": "steps:2h=50,4h=0",
    "no steps": "steps:",
    "no number": "sigmoid:nan,2,4h",
    "too many steps": "steps:" + ",".join(f"{i + 1}h={1000 - i}" for i in range(900)),
}
WHOLE = "epochs=3,chunks=4,batches=5,step=1.5s,gradient=30Mi,bandwidth=1Gbit,ps-bandwidth=5Gbit"
TRAININGS = {
    "all of it": (WHOLE, Training(3, 4, 5, 1.5, None, 30 << 20, 1e9, 5e9)),
    "only the required parts": ("epochs=3,chunks=4,batches=5", Training(3, 4, 5)),
    "in any order": ("batches=5, step=20ms, chunks=4, epochs=3", Training(3, 4, 5, 0.02)),
    "as measured": ("epochs=1,chunks=1,batches=1,whole-step=2s", Training(1, 1, 1, None, 2.0)),
}
NO_TRAININGS = {
    "no epochs": ("chunks=4,batches=5", "epochs"),
    "a count of 0": ("epochs=0,chunks=4,batches=5", "epochs of annotation"),
    "a count that is no number": ("epochs=3,chunks=four,batches=5", "chunks of annotation"),
    "an unknown part": ("epochs=3,chunks=4,batches=5,speed=3", "speed=3"),
    "a part twice": ("epochs=3,epochs=4,chunks=4,batches=5", "epochs once"),
    "no equals sign": ("epochs", "epochs"),
    "a step of 0 s": ("epochs=3,chunks=4,batches=5,step=0s", "step of annotation"),
    "a bandwidth in bytes": (
        "epochs=3,chunks=4,batches=5,gradient=1,bandwidth=1G",
        "bandwidth of annotation",
    ),
    "a gradient without a bandwidth": ("epochs=3,chunks=4,batches=5,gradient=1Mi", "bandwidth"),
}


@pytest.mark.parametrize(("text", "want"), UTILITIES.values(), ids=UTILITIES)
def test_a_utility_is_read(text, want):
    assert utility.utility_of(text) == want


@pytest.mark.parametrize("text", NO_UTILITIES.values(), ids=NO_UTILITIES)
def test_an_invalid_utility_names_the_annotation(text):
    with pytest.raises(InputError, match=r"annotation shuntyard.io/utility"):
        utility.utility_of(text)


@pytest.mark.parametrize(("text", "want"), TRAININGS.values(), ids=TRAININGS)
def test_a_training_is_read(text, want):
    assert training_spec.training_of(text) == want


@pytest.mark.parametrize(("text", "part"), NO_TRAININGS.values(), ids=NO_TRAININGS)
def test_an_invalid_training_names_the_part(text, part):
    with pytest.raises(InputError, match=part) as raised:
        training_spec.training_of(text)
    assert "annotation shuntyard.io/training" in str(raised.value)


def test_a_sigmoid_loses_half_at_its_time():
    curve = utility.utility_of("sigmoid:100,2,4h")
    assert curve.of(4 * 3600) == pytest.approx(50)
    assert curve.of(5 * 3600) == pytest.approx(100 / (1 + 2.718281828**2))


def test_a_gradient_goes_both_ways():
    training = training_spec.training_of("epochs=1,chunks=1,batches=1,gradient=1M,bandwidth=8Mbit")
    assert training.exchange_seconds == pytest.approx(2.0)
