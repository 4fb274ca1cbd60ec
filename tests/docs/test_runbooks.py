"""Each alert has a page that says what it means, what to look at and what to do."""

import re
import shlex

import pytest

from cli.arguments import parse
from extender.settings.extender import ExtenderSettings
from monitoring.dashboards import ALL
from monitoring.rules import ALERTS
from tests.docs.pages import ROOT

FOLDER = ROOT / "docs/runbooks"
PARTS = ("## What it means", "## What to look at", "## What to do")
PAGES = sorted(FOLDER.glob("*.md"))
COMMANDS = re.compile(r"^(shuntyard .*)$", re.MULTILINE)
SECTIONS = "|".join(ExtenderSettings.model_fields)
SETTING = re.compile(rf"`(?P<section>{SECTIONS})\.(?P<key>\w+)(?:: [^`]*)?`")


def test_every_alert_has_its_page_and_every_page_its_alert() -> None:
    assert {page.stem for page in PAGES} == {alert.name for alert in ALERTS}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_its_parts_and_leads_to_a_dashboard(page):
    text = page.read_text()
    assert text.startswith(f"# {page.stem}\n")
    assert [line for line in text.splitlines() if line.startswith("## ")] == list(PARTS)
    titles = {f"[Shuntyard / {one.title}]" for one in ALL}
    assert any(title in text for title in titles)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_settings_on_a_runbook_exist(page):
    text = page.read_text()
    found = COMMANDS.findall(text)
    assert found or "kubectl" in text
    for command in found:
        words = shlex.split(command)[1:]
        assert parse(words).command == words[0]
    for match in SETTING.finditer(text):
        section = ExtenderSettings.model_fields[match["section"]].get_default()
        assert match["key"] in type(section).model_fields, match[0]
