"""The page of monitoring has every dashboard with its picture, and every alert."""

from monitoring.dashboards import ALL
from monitoring.rules import ALERTS
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs/monitoring.md").read_text()


def test_every_dashboard_has_its_paragraph_and_its_picture() -> None:
    for one in ALL:
        assert f"### {one.title}\n" in PAGE
        assert f"![{one.title}](monitoring/{one.name}.svg)" in PAGE
        assert (ROOT / f"docs/monitoring/{one.name}.svg").is_file()


def test_every_alert_is_in_the_table_with_its_severity() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| [Shuntyard")]
    wanted = [f"| [{a.name}](runbooks/{a.name}.md) | {a.severity.value} |" for a in ALERTS]
    assert [row[: len(start)] for row, start in zip(rows, wanted, strict=True)] == wanted
