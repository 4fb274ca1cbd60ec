"""Names, units and labels of the extender's metrics; values taken from passes and watches."""

import re
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from prometheus_client import Metric

from extender.core.cluster.reasons import Reason
from extender.metrics.extender import ExtenderMetrics
from extender.metrics.requests import Outcome, Verb


def ours(metrics: ExtenderMetrics) -> list[Metric]:
    return [m for m in metrics.registry.collect() if m.name.startswith("shuntyard_")]


def value(metrics: ExtenderMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_every_name_ends_in_its_unit() -> None:
    units = re.compile(r"_(seconds|bytes|ratio|jobs|nodes|pods|gpus|connections|info|total)$")
    counters = {"counter": "_total", "info": "_info"}
    for metric in ours(ExtenderMetrics()):
        name = metric.name + counters.get(metric.type, "")
        assert units.search(name) or name in {"shuntyard_acting", "shuntyard_gating"}, name
        assert metric.documentation.endswith("."), name


def test_two_extenders_do_not_share_a_registry() -> None:
    first, second = ExtenderMetrics(), ExtenderMetrics()
    first.releases.inc()
    assert value(second, "shuntyard_releases_total") == 0


def test_series_of_closed_vocabularies_exist_from_the_start() -> None:
    metrics = ExtenderMetrics()
    for reason in Reason:
        assert value(metrics, "shuntyard_waiting_jobs", reason=reason.value) == 0
    for verb in Verb:
        for outcome in Outcome:
            labels = {"verb": verb.value, "outcome": outcome.value}
            assert value(metrics, "shuntyard_requests_total", **labels) == 0


@dataclass
class Reflector:
    last_event_at: float
    relists: dict[str, int] = field(default_factory=dict)
    kind: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(source="Pod"))


def test_relists_are_counted_once_at_any_number_of_scrapes() -> None:
    metrics, reflector = ExtenderMetrics(), Reflector(90.0, {"gone": 2})
    metrics.watches.observe([reflector], 100.0)
    metrics.watches.observe([reflector], 101.0)
    reflector.relists["gone"] = 3
    metrics.watches.observe([reflector], 102.0)
    relists = value(metrics, "shuntyard_watch_relists_total", source="Pod", reason="gone")
    assert relists == 3
    assert value(metrics, "shuntyard_watch_last_event_age_seconds", source="Pod") == 12.0


@pytest.mark.parametrize("verb", Verb)
def test_a_request_is_timed_under_its_verb(verb: Verb) -> None:
    metrics = ExtenderMetrics()
    metrics.requests.observe(verb, Outcome.OK, 0.25)
    name = "shuntyard_request_duration_seconds_sum"
    assert value(metrics, name, verb=verb.value) == 0.25


def test_the_page_is_prometheus_text() -> None:
    text = ExtenderMetrics().render().decode()
    assert re.search(r'^shuntyard_build_info\{version="[^"]+"\} 1\.0$', text, re.MULTILINE)
