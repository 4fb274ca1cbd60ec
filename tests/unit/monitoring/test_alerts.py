"""Each alert fires when it should, and not when it should not; promtool judges."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from monitoring.rules import ALERTS, printing
from monitoring.rules.recording import RECORDINGS
from tests.unit.monitoring.alert_cases import CASES, Series
from tests.unit.monitoring.promtool import needs_promtool, promtool

BY_NAME = {alert.name: alert for alert in ALERTS}


def test_every_alert_has_its_case() -> None:
    assert CASES.keys() == BY_NAME.keys()
    assert len(BY_NAME) == len(ALERTS)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda one: one.name)
def test_an_alert_has_a_summary_and_a_description(alert: Any) -> None:
    assert alert.name.startswith("Shuntyard")
    assert alert.summary.endswith(".")
    assert alert.about.endswith(".")


def test_recorded_names_are_level_metric_operation() -> None:
    for one in RECORDINGS:
        level, metric, operation = one.name.split(":")
        assert (level[:3], metric[:10]) == ("job", "shuntyard_"), one.name
        assert operation, one.name


def _test(name: str, series: Series, expected: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "interval": "1m",
        "input_series": [{"series": one, "values": values} for one, values in series.items()],
        "alert_rule_test": [
            {"eval_time": CASES[name].at, "alertname": name, "exp_alerts": expected}
        ],
    }


def _expected(name: str) -> dict[str, Any]:
    alert = BY_NAME[name]
    return {
        "exp_labels": {"severity": alert.severity.value, **CASES[name].labels},
        "exp_annotations": {
            "summary": CASES[name].summary,
            "description": alert.about,
            "runbook_url": f"{printing.RUNBOOKS}/{name}.md",
        },
    }


def _run(folder: Path, tests: dict[str, dict[str, Any]]) -> str:
    """Ask promtool once; an alert's test knows that alert alone, which is much faster."""
    for name, one in tests.items():
        rules = printing.groups(alerts=[BY_NAME[name]])
        (folder / f"{name}.rules.yaml").write_text(yaml.safe_dump(rules))
        content = {"rule_files": [f"{name}.rules.yaml"], "tests": [one]}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(content))
    return promtool("test", "rules", *(folder / f"{name}.yaml" for name in tests))


@needs_promtool
def test_alerts_are_quiet_where_things_are_as_they_should(tmp_path: Path) -> None:
    output = _run(tmp_path, {name: _test(name, case.quiet, []) for name, case in CASES.items()})
    assert output.count("SUCCESS") == len(CASES)


@needs_promtool
def test_alerts_fire_with_the_labels_and_the_words_that_people_get(tmp_path: Path) -> None:
    tests = {name: _test(name, case.fires, [_expected(name)]) for name, case in CASES.items()}
    assert _run(tmp_path, tests).count("SUCCESS") == len(CASES)
