"""What one interval gained, in every normalisation."""

import math

import pytest

from shared.convergence import parameters
from shared.convergence.categories import growth
from shared.convergence.parameters import ConvergenceParameters, Normalisation
from shared.parameters import bounds
from shared.progress import Goal

ABSOLUTE, PREVIOUS, DROP = Normalisation
HUGE = 1.7e308

# normalisation, signed, goal, previous → current, first, best, growth
CASES = {
    "a fall of 0.5 is 0.5": (ABSOLUTE, True, "min", 2.0, 1.5, 4.0, 1.5, 0.5),
    "a fall from 2 to 1.5 is a quarter of 2": (PREVIOUS, True, "min", 2.0, 1.5, 4.0, 1.5, 0.25),
    "a fifth of all that was gained since 4": (DROP, True, "min", 2.0, 1.5, 4.0, 1.5, 0.2),
    "a rise is no growth": (PREVIOUS, True, "min", 2.0, 3.0, 4.0, 2.0, 0.0),
    "as printed a rise is growth": (PREVIOUS, False, "min", 2.0, 3.0, 4.0, 2.0, 0.5),
    "an accuracy grows by rising": (PREVIOUS, True, "max", 0.5, 0.75, 0.5, 0.75, 0.5),
    "an accuracy that falls does not": (PREVIOUS, True, "max", 0.5, 0.25, 0.5, 0.5, 0.0),
    "a negative loss falls away from 0": (PREVIOUS, True, "min", -2.0, -3.0, -1.0, -3.0, 0.5),
    "from 0 every improvement is large": (PREVIOUS, True, "max", 0.0, 0.5, 0.0, 0.5, 0.5e12),
    "nothing was gained yet": (DROP, True, "min", 1.0, 1.0, 1.0, 1.0, 0.0),
    "only a rise so far": (DROP, False, "min", 1.0, 1.5, 1.0, 1.0, 0.5e12),
    "the difference of huge values": (PREVIOUS, True, "min", HUGE, -HUGE, HUGE, -HUGE, 2.0),
    "a huge drop by a huge drop": (DROP, True, "min", HUGE, -HUGE, HUGE, -HUGE, 1.0),
    "what no float holds is infinite": (ABSOLUTE, True, "min", HUGE, -HUGE, 1.0, 1.0, math.inf),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_growth(case):
    normalisation, signed, goal, previous, current, first, best, want = case
    params = ConvergenceParameters(normalisation=normalisation, signed=signed)
    found = growth(previous, current, first=first, best=best, goal=Goal(goal), params=params)
    assert found == pytest.approx(want, rel=1e-12)


def test_bounds_hold_every_preset():
    for params in parameters.PRESETS.values():
        for name, (least, most) in bounds(ConvergenceParameters).items():
            assert least <= getattr(params, name) <= most


def test_the_presets_are_what_they_are_called():
    recommended, printed = (parameters.PRESETS[name] for name in ("recommended", "printed"))
    assert recommended == ConvergenceParameters()
    assert (recommended.alpha, recommended.interval_seconds) == (0.01, 30.0)
    assert (recommended.normalisation, recommended.signed) == (PREVIOUS, True)
    assert not recommended.count_silent_ticks
    assert (printed.alpha, printed.interval_seconds) == (0.01, 30.0)
    assert (printed.normalisation, printed.signed) == (ABSOLUTE, False)
    assert printed.count_silent_ticks
