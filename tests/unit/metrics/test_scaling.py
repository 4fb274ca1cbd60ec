"""Changes of workers are counted when they ended, workers when they came or left."""

import pytest
from prometheus_client import CollectorRegistry

from extender.core.elastic.state import Ended, Ending
from extender.core.records.rescale import Cause, Phase
from extender.metrics.scaling import ScalingMetrics
from extender.metrics.series import Series
from tests.unit.core.elastic.changing_cluster import rescale

CASES = {
    "shrunk": (4, 2, Ending.DONE, (0, 2)),
    "grown": (2, 5, Ending.DONE, (3, 0)),
    "given back": (2, 5, Ending.WITHDRAWN, (3, 0)),
    "aborted": (4, 2, Ending.ABORTED, (0, 0)),
}


@pytest.mark.parametrize(("before", "to", "outcome", "moved"), CASES.values(), ids=CASES)
def test_what_is_counted(before: int, to: int, outcome: Ending, moved: tuple[int, int]) -> None:
    registry = CollectorRegistry()
    metrics = ScalingMetrics(Series(registry))
    one = rescale(Phase.DONE, before, to, cause=Cause.SLOWS)
    metrics.observe(Ended(one, outcome))
    count = registry.get_sample_value(
        "shuntyard_rescales_total", {"cause": "Slows", "outcome": outcome.value}
    )
    assert count == 1.0
    names = ("shuntyard_workers_added_total", "shuntyard_workers_removed_total")
    assert tuple(registry.get_sample_value(n, {"cause": "Slows"}) for n in names) == moved


def test_every_cause_and_outcome_is_there_from_the_start() -> None:
    registry = CollectorRegistry()
    ScalingMetrics(Series(registry))
    (family,) = (f for f in registry.collect() if f.name == "shuntyard_rescales")
    told = {(s.labels["cause"], s.labels["outcome"]) for s in family.samples}
    assert told == {(c.value, o.value) for c in Cause for o in Ending}
