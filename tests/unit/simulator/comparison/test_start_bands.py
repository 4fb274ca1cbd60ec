"""Start estimates of the extender on a trace: how many starts are inside their band."""

from dataclasses import replace
from pathlib import Path

import pytest

from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import Order
from extender.core.queue import forecast
from simulator.comparison import start_bands
from simulator.comparison.start_bands import Stating
from simulator.main import main
from simulator.traces.faults import Faults
from simulator.traces.opening import open_trace

TRACE = Path("tests/fixtures/traces/own/queue.csv")
"""60 jobs on 3 machines with 4 GPUs, more than these can run at once."""


EXACT, ROUGH = forecast.MOST_EXACT_JOBS, 0
FLOORS: dict[str, tuple[Order, int, float]] = {
    "in the order of creation": (Order.CREATION, EXACT, 0.6),
    "by the CPS value": (Order.CPS, EXACT, 0.6),
    "in the order of creation, projected roughly": (Order.CREATION, ROUGH, 0.6),
    "by the CPS value, projected roughly": (Order.CPS, ROUGH, 0.6),
}


@pytest.mark.parametrize(("order", "most", "least"), FLOORS.values(), ids=FLOORS.keys())
def test_about_two_thirds_of_the_starts_are_inside_their_band(
    order: Order, most: int, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecast, "MOST_EXACT_JOBS", most)
    monkeypatch.setattr(start_bands, "EVERY_SECONDS", 600.0)  # exact projections take their time
    trace = open_trace(TRACE, "", Faults())
    params = replace(CoreParameters(), order=order)
    found = start_bands.count(trace, params, Stating(), seed=1)
    assert found.waited >= 30
    assert found.inside() >= least


def test_the_command_counts_starts_by_order_and_distance(capsys) -> None:
    options = ["--trace", str(TRACE), "--jobs", "30", "--seeds", "1", "--order", "creation"]
    assert main(["starts", *options, "--nodes", "3"]) == 0
    printed = capsys.readouterr().out
    assert "| creation | all |" in printed


def test_an_unknown_order_is_named(capsys) -> None:
    assert main(["starts", "--trace", str(TRACE), "--order", "fifo"]) == 2
    assert "--order: fifo: expected some of" in capsys.readouterr().err
