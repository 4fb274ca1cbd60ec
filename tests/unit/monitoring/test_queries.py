"""Prometheus can parse every query, and every metric in it exists."""

import re
from pathlib import Path

import yaml

from agent.metrics import AgentMetrics
from extender.metrics.extender import ExtenderMetrics
from monitoring.dashboards import ALL
from monitoring.queries import filled, queries
from monitoring.rules import printing
from tests.unit.monitoring.promtool import needs_promtool, promtool

NAME = re.compile(r"(?<![:\w])(shuntyard_\w+|process_\w+)\b(?!:)")
SUFFIXES = {
    "counter": ("_total",),
    "histogram": ("_bucket", "_count", "_sum"),
    "info": ("_info",),
    "gauge": ("",),
}


def known() -> set[str]:
    return {
        metric.name + suffix
        for registry in (ExtenderMetrics().registry, AgentMetrics().registry)
        for metric in registry.collect()
        for suffix in SUFFIXES[metric.type]
    }


def expressions() -> list[str]:
    shown = [
        filled(query, dashboard, rate="4m", window="1h") for dashboard, _, query in queries(ALL)
    ]
    return [*shown, *(text for _, text in printing.expressions())]


def test_every_metric_that_is_asked_for_exists() -> None:
    asked = {name for text in expressions() for name in NAME.findall(text)}
    assert len(asked) > 30
    assert asked - known() == set()


def vocabularies() -> dict[tuple[str, str], set[str]]:
    """Metric and label → the values that are there from the start."""
    found: dict[tuple[str, str], set[str]] = {}
    for registry in (ExtenderMetrics().registry, AgentMetrics().registry):
        for metric in registry.collect():
            for sample in metric.samples:
                for label, value in sample.labels.items():
                    found.setdefault((sample.name, label), set()).add(value)
    return found


def test_every_label_value_that_is_asked_for_is_in_its_vocabulary() -> None:
    closed, asked = vocabularies(), 0
    for text in expressions():
        for name, matchers in re.findall(r"\b(shuntyard_\w+)\{([^}]*)\}", text):
            for label, value in re.findall(r'(\w+)(?:=~|=|!=)"([^"]*)"', matchers):
                if (name, label) in closed and value != ".+":
                    asked += 1
                    assert set(value.split("|")) <= closed[name, label], text
    assert asked > 20


def test_every_recorded_name_that_is_asked_for_is_recorded() -> None:
    asked = {name for text in expressions() for name in re.findall(r"\bjob\w*:\w+:\w+", text)}
    assert asked <= {name for name, _ in printing.expressions()}


@needs_promtool
def test_prometheus_can_read_every_query(tmp_path: Path) -> None:
    rules = [{"record": f"query_{i}", "expr": text} for i, text in enumerate(expressions())]
    file = tmp_path / "queries.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", file)
