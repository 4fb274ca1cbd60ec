"""The metrics of all programs keep Prometheus' conventions, and no label is without bounds."""

import re

import pytest
from prometheus_client import CollectorRegistry

from agent.metrics import LABELS, AgentMetrics
from extender.metrics.extender import ExtenderMetrics
from tests.unit.monitoring.promtool import needs_promtool, promtool

REGISTRIES = {"extender": ExtenderMetrics, "agent": AgentMetrics}
TARGET_LABELS = {"job", "instance", "namespace", "pod", "service", "endpoint", "container", "node"}
"""What Prometheus and its operator call the target; an own label of that name gets renamed."""
OPEN_LABELS = {
    "source": "watched collections: those of shared.kube.kinds",
    "reason": "why a watch listed again: shared.kube.reflector has them",
    "loop": "loops of the process",
    "version": "one value a process",
    "team": "namespaces with jobs, at most MOST_TEAMS",
    "slot": "slots that are looked ahead, a handful",
    **dict.fromkeys(LABELS, "pods of this node, at most MOST_PODS"),
}
"""Labels whose values are no vocabulary, and what bounds them."""


def registry(program: str) -> CollectorRegistry:
    return REGISTRIES[program]().registry


@pytest.mark.parametrize("program", REGISTRIES)
@needs_promtool
def test_promtool_has_nothing_to_say_about_the_names(program: str) -> None:
    text = REGISTRIES[program]().render()
    assert promtool("check", "metrics", given=text) == ""


@pytest.mark.parametrize("program", REGISTRIES)
def test_no_label_has_the_name_of_a_target_label(program: str) -> None:
    used = {
        (metric.name, label)
        for metric in registry(program).collect()
        for label in getattr(metric, "_labelnames", ())
    }
    assert {one for one in used if one[1] in TARGET_LABELS} == set()


@pytest.mark.parametrize("program", REGISTRIES)
def test_every_label_is_there_from_the_start_or_has_a_reason(program: str) -> None:
    """A label whose values come later is where cardinality grows: it must say what bounds it."""
    closed = {
        label
        for metric in registry(program).collect()
        for sample in metric.samples
        for label in sample.labels
    }
    named = {
        label
        for metric in list(registry(program)._collector_to_names)
        for label in getattr(metric, "_labelnames", ())
    }
    assert {label for label in named - closed if label not in OPEN_LABELS} == set()


@pytest.mark.parametrize("program", REGISTRIES)
def test_counters_end_in_total_and_units_are_base_units(program: str) -> None:
    odd = re.compile(r"_(milliseconds|ms|minutes|hours|kilobytes|megabytes|percent)(_|$)")
    for metric in registry(program).collect():
        assert not odd.search(metric.name), metric.name
        for sample in metric.samples:
            if metric.type == "counter":
                assert sample.name.endswith("_total"), sample.name
