"""Our dashboards keep the rules of Grafana's dashboard-linter, and our own.

Source: github.com/grafana/dashboard-linter, docs/rules. Exceptions: `window` queries, see below.
"""

import json
import re
from typing import Any

import pytest

from monitoring import grafana
from monitoring.dashboards import ALL
from monitoring.panels import Dashboard, Kind
from monitoring.rules import ALERTS

PAGES = [pytest.param(json.loads(grafana.text(one)), id=one.name) for one in ALL]
SELECTOR = re.compile(r"\b(?:shuntyard|process)_\w+(\{[^}]*\})?")
COUNTER = re.compile(r"\b\w+_(?:total|count|sum|bucket)\b(?:\{[^}]*\})?(\[[^\]]+\])?")
RANGE = re.compile(r"\[([^\]]+)\]")


def panels(page: dict[str, Any]) -> list[dict[str, Any]]:
    return [panel for panel in page["panels"] if panel["type"] != "row"]


def targets(page: dict[str, Any]) -> list[dict[str, Any]]:
    return [target for panel in panels(page) for target in panel["targets"]]


def variables(page: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one for one in page["templating"]["list"]}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_classic_json_and_not_editable(page: dict[str, Any]) -> None:
    assert page["schemaVersion"] >= 39
    assert page["editable"] is False
    assert page["uid"].startswith("shuntyard-")
    assert page["title"]
    assert page["description"]


@pytest.mark.parametrize("page", PAGES)
def test_data_source_job_and_instance_are_variables(page: dict[str, Any]) -> None:
    found = variables(page)
    assert list(found)[:3] == ["datasource", "job", "instance"]
    assert (found["datasource"]["type"], found["datasource"]["query"]) == (
        "datasource",
        "prometheus",
    )
    for name in ("job", "instance"):
        one = found[name]
        assert one["datasource"]["uid"] == "$datasource"
        assert (one["type"], one["multi"], one["includeAll"]) == ("query", True, True)
        assert one["allValue"] == ".+"
        assert f", {name})" in one["query"]


@pytest.mark.parametrize("page", PAGES)
def test_a_panel_has_a_description_and_a_unit(page: dict[str, Any]) -> None:
    for panel in panels(page):
        assert panel["title"], panel
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["datasource"]["uid"] == "$datasource"
        assert panel["targets"], panel["title"]


@pytest.mark.parametrize("page", PAGES)
def test_titles_are_unique_on_their_page(page: dict[str, Any]) -> None:
    rows = [panel["title"] for panel in page["panels"] if panel["type"] == "row"]
    assert len(rows) == len(set(rows))
    for kind in ("stat", "timeseries", "heatmap", "table"):
        titles = [panel["title"] for panel in panels(page) if panel["type"] == kind]
        assert len(titles) == len(set(titles))


@pytest.mark.parametrize("page", PAGES)
def test_every_selector_asks_for_the_chosen_job_and_instance(page: dict[str, Any]) -> None:
    for target in targets(page):
        found = SELECTOR.findall(target["expr"])
        assert found, target["expr"]
        for selector in found:
            assert 'job=~"$job"' in selector, target["expr"]
            assert 'instance=~"$instance"' in selector, target["expr"]


@pytest.mark.parametrize("page", PAGES)
def test_counters_are_only_read_as_rates_and_over_grafanas_interval(page: dict[str, Any]) -> None:
    """Or over the window that the viewer chooses, for what happens a few times a day."""
    for target in targets(page):
        expression = target["expr"]
        for interval in COUNTER.findall(expression):
            assert interval, f"a counter as it is: {expression}"
        for interval in RANGE.findall(expression):
            assert interval in {"$__rate_interval", "$window"}, expression
        if "$window" in expression:
            assert "window" in variables(page)


@pytest.mark.parametrize("page", PAGES)
def test_every_line_has_a_name_of_labels_that_its_query_keeps(page: dict[str, Any]) -> None:
    for target in targets(page):
        legend, expression = target["legendFormat"], target["expr"]
        assert legend
        kept = re.findall(r"by \(([^)]*)\)", expression)
        names = {name.strip() for group in kept for name in group.split(",")}
        if "by (" in expression:
            assert set(re.findall(r"{{(\w+)}}", legend)) <= names, (legend, expression)


@pytest.mark.parametrize("page", PAGES)
def test_panels_fill_their_rows_and_do_not_overlap(page: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in page["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= grafana.COLUMNS, panel["title"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in page["panels"]}) == len(page["panels"])


@pytest.mark.parametrize("dashboard", ALL, ids=lambda one: one.name)
def test_a_number_comes_of_one_query(dashboard: Dashboard) -> None:
    for panel in dashboard.panels:
        if panel.kind in {Kind.NUMBER, Kind.HEATMAP}:
            assert len(panel.queries) == 1, panel.title


def test_the_pages_that_were_promised_are_there() -> None:
    assert [one.name for one in ALL][:6] == [
        "overview", "fairness", "prices", "convergence", "migrations", "health",
    ]  # fmt: skip
    assert len({one.uid for one in ALL}) == len(ALL)


@pytest.mark.parametrize("page", PAGES)
def test_moves_parkings_and_takeovers_are_marked_on_every_page(page: dict[str, Any]) -> None:
    found = {one["name"]: one for one in page["annotations"]["list"]}
    assert list(found) == ["Moves", "Parkings", "Takeovers"]
    for one in found.values():
        assert one["datasource"]["uid"] == "$datasource"
        assert one["enable"] is True
        assert 'job=~"$job", instance=~"$instance"' in one["expr"]
        kept = set(re.findall(r"by \(([^)]*)\)", one["expr"]))
        labels = {name.strip() for group in kept for name in group.split(",")} | {"instance"}
        assert set(re.findall(r"{{(\w+)}}", one["titleFormat"])) <= labels


def test_namespaces_can_be_chosen_where_panels_are_about_them() -> None:
    (teams,) = (json.loads(grafana.text(one)) for one in ALL if one.name == "teams")
    chosen = variables(teams)["namespace"]
    assert chosen["query"] == 'label_values(shuntyard_team_waiting_jobs{job=~"$job"}, team)'
    by_team = [one["expr"] for one in targets(teams) if "by (team)" in one["expr"]]
    assert by_team
    assert all('team=~"$namespace"' in one for one in by_team)
    others = [variables(json.loads(grafana.text(one))) for one in ALL if one.name != "teams"]
    assert [one for one in others if "namespace" in one] == []


def test_a_table_shows_the_last_value_of_each_query_under_its_name() -> None:
    (teams,) = (json.loads(grafana.text(one)) for one in ALL if one.name == "teams")
    (table,) = (panel for panel in panels(teams) if panel["type"] == "table")
    assert all(target["instant"] and target["format"] == "table" for target in table["targets"])
    merge, organize = table["transformations"]
    assert (merge["id"], organize["id"]) == ("merge", "organize")
    assert organize["options"]["renameByName"] == {
        f"Value #{target['refId']}": target["legendFormat"] for target in table["targets"]
    }


def limits() -> dict[str, dict[str, Any]]:
    """Return panels by their page and title whose thresholds say more than Grafana's default."""
    return {
        f"{page.values[0]['uid']} {panel['title']}": panel  # type: ignore[index]
        for page in PAGES
        for panel in panels(page.values[0])  # type: ignore[arg-type]
        if "thresholds" in panel["fieldConfig"]["defaults"]
    }


def test_thresholds_ascend_from_below_all_and_are_drawn() -> None:
    assert len(limits()) >= 8
    for place, panel in limits().items():
        steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        values = [step["value"] for step in steps]
        assert values[0] is None, place
        assert values[1:] == sorted(values[1:]), place
        if panel["type"] == "timeseries":
            style = panel["fieldConfig"]["defaults"]["custom"]["thresholdsStyle"]
            assert style == {"mode": "dashed"}, place
        else:
            assert panel["options"]["colorMode"] == "value", place


def test_a_line_becomes_bad_where_its_alert_fires() -> None:
    ends = set(re.findall(r"> ([\d.]+)$", "\n".join(a.text for a in ALERTS), re.MULTILINE))
    for place, panel in limits().items():
        steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        for step in steps[1:] if panel["type"] == "timeseries" else ():
            assert f"{step['value']:g}" in ends, place
