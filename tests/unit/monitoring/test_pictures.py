"""Queries are sent as Grafana would send them, and the answers become pictures."""

import re
from pathlib import Path

import pytest

from monitoring import pictures
from monitoring.dashboards import ALL
from monitoring.drawing import LEVELS, shown
from monitoring.panels import (
    Dashboard,
    Level,
    Limit,
    Query,
    Row,
    Unit,
    heatmap,
    limited,
    lines,
    number,
    stacked,
    table,
)
from monitoring.pictures import Result, Span
from monitoring.queries import WITHOUT_RESULT, filled
from monitoring.server import Line

SPAN = Span(begin=100.0, end=103.0, step=1.0, rate="10s", window="5m")
PANELS = (
    number("Jobs", "Jobs.", Unit.NUMBER, "sum(x{@})"),
    lines("Rates", "Rates.", Unit.PER_SECOND, ("rate(y_total{@}[$__rate_interval])", "{{verb}}")),
    stacked(lines("Parts", "Parts.", Unit.SHARE, ("z{@}", "{{verb}} {{missing}}"))),
    heatmap("Waits", "Waits.", Unit.SECONDS, 'w_bucket{@, r="$resource"}', "le"),
    lines("Empty", "Empty.", Unit.SECONDS, ("nothing{@}", "nothing")),
    table("Verbs", "Verbs.", Unit.NUMBER, ("a{@}", "first"), ("b{@}", "second")),
    table("No rows", "No rows.", Unit.NUMBER, ("nothing{@} > 0", "third")),
)
BOARD = Dashboard(
    "board", "Board", "All.",
    (Row("One", PANELS[:3]), Row("Two", PANELS[3:5]), Row("Three", PANELS[5:])),
    choices=(("resource", ("gpu", "cpu")),),
)  # fmt: skip


class Server:
    """Answers as a Prometheus would, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def between(self, query: str, begin: float, end: float, step: float) -> tuple[Line, ...]:
        self.asked.append(query)
        assert (begin, end, step) == (100.0, 103.0, 1.0)
        if query.startswith("nothing"):
            return ()
        labels = [{"verb": "bind", "le": "1.0"}, {"verb": "filter", "le": "+Inf"}]
        points = ((100.0, 1.0), (101.0, 2.0), (102.0, float("nan")), (103.0, 4.0))
        return tuple(Line(one, points) for one in labels)


def answers() -> tuple[Result, ...]:
    return tuple(pictures.run(Server(), (BOARD,), SPAN))  # type: ignore[arg-type]


def test_variables_have_their_default_values() -> None:
    server = Server()
    tuple(pictures.run(server, (BOARD,), SPAN))  # type: ignore[arg-type]
    all_of_them = '{job=~".+", instance=~".+"'
    assert server.asked[1] == f"rate(y_total{all_of_them}}}[10s])"
    assert server.asked[3] == f'w_bucket{all_of_them}, r="gpu"}}'


def test_a_variable_that_the_page_does_not_have_is_found_out() -> None:
    with pytest.raises(KeyError, match="unknown"):
        filled(Query("x{@} * $unknown", ""), BOARD, rate="1m", window="1h")


def test_samples_that_are_not_numbers_are_ignored() -> None:
    class Mute(Server):
        def between(self, query: str, begin: float, end: float, step: float) -> tuple[Line, ...]:
            return (Line({}, ((100.0, float("nan")), (101.0, float("inf")))),)

    asked = pictures.run(Mute(), (BOARD,), SPAN)  # type: ignore[arg-type]
    assert [one.lines for one in asked] == [()] * sum(len(panel.queries) for panel in PANELS)


def test_reasons_are_given_for_panels_that_exist() -> None:
    known = {(board.name, panel.title) for board in ALL for panel in board.panels}
    assert WITHOUT_RESULT.keys() <= known
    assert all(WITHOUT_RESULT.values())


def test_a_query_without_data_is_named_unless_it_has_a_reason() -> None:
    left = (("board", "Empty", "nothing{@}"), ("board", "No rows", "nothing{@} > 0"))
    assert pictures.empty(answers(), {}) == left
    assert pictures.empty(answers(), {("board", "Empty"): "no job waits"}) == left[1:]


def test_a_picture_has_every_title_every_heading_and_every_name(tmp_path: Path) -> None:
    pictures.draw(answers(), tmp_path)
    text = (tmp_path / "board.svg").read_text()
    for word in ("Shuntyard / Board", "One", "Two", "bind", "filter", "nothing in this run"):
        assert f">{word}<" in text, word
    assert [panel.title for panel in BOARD.panels if f">{panel.title}<" not in text] == []


def test_a_table_has_a_row_for_each_label_and_a_column_for_each_query(tmp_path: Path) -> None:
    pictures.draw(answers(), tmp_path)
    text = (tmp_path / "board.svg").read_text()
    for word in ("first", "second", "bind 1.0", "filter +Inf"):
        assert f">{word}<" in text, word


@pytest.mark.parametrize(
    ("limits", "level"),
    [
        ((), Level.PLAIN),
        (((5.0, Level.BAD),), Level.PLAIN),
        (((4.0, Level.WARNING), (5.0, Level.BAD)), Level.WARNING),
        (((None, Level.BAD), (1.0, Level.GOOD)), Level.GOOD),
    ],
)
def test_a_number_has_the_colour_of_its_level(
    limits: tuple[Limit, ...], level: Level, tmp_path: Path
) -> None:
    panel = limited(PANELS[0], *limits)
    board = Dashboard("one", "One", "One.", (Row("Row", (panel,)),))
    drawn = tuple(pictures.run(Server(), (board,), SPAN))  # type: ignore[arg-type]
    pictures.draw(drawn, tmp_path)
    (shown_as,) = re.findall(
        r'<text style="([^"]*)"[^>]*>4</text>', (tmp_path / "one.svg").read_text()
    )
    fill = re.findall(r"fill: (#\w+)", shown_as)
    assert (fill or ["black"]) == [LEVELS[level]]


def test_a_chart_has_a_line_at_each_limit_that_is_in_reach(tmp_path: Path) -> None:
    panel = limited(PANELS[1], (3.0, Level.WARNING), (1000.0, Level.BAD))
    board = Dashboard("one", "One", "One.", (Row("Row", (panel,)),))
    pictures.draw(tuple(pictures.run(Server(), (board,), SPAN)), tmp_path)  # type: ignore[arg-type]
    text = (tmp_path / "one.svg").read_text()
    assert LEVELS[Level.WARNING] in text
    assert LEVELS[Level.BAD] not in text


def test_the_same_answers_give_the_same_picture(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        pictures.draw(answers(), tmp_path / folder)
    first, second = (tmp_path / folder / "board.svg" for folder in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("dashboard", ALL, ids=lambda one: one.name)
def test_every_dashboard_can_be_drawn_without_any_answer(
    dashboard: Dashboard, tmp_path: Path
) -> None:
    nothing = [Result(dashboard, p, q, ()) for p in dashboard.panels for q in p.queries]
    pictures.draw(nothing, tmp_path, "png")
    assert (tmp_path / f"{dashboard.name}.png").stat().st_size > 0


SHOWN = {
    "a short time": (0.0123, Unit.SECONDS, "12.3 ms"),
    "a time": (12.34, Unit.SECONDS, "12.3 s"),
    "a long time": (1800.0, Unit.SECONDS, "30 min"),
    "days": (90 * 86400.0, Unit.SECONDS, "90 days"),
    "over": (-5.0, Unit.SECONDS, "-5 s"),
    "a share": (0.125, Unit.SHARE, "12.5%"),
    "memory": (2.0**21, Unit.BYTES, "2 MiB"),
    "a rate": (1.5, Unit.REQUESTS, "1.5/s"),
    "a number": (3.0, Unit.NUMBER, "3"),
}


@pytest.mark.parametrize(("value", "unit", "text"), SHOWN.values(), ids=SHOWN)
def test_values_are_shown_with_their_unit(value: float, unit: Unit, text: str) -> None:
    assert shown(value, unit) == text
