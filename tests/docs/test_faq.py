"""The pages of questions and of other schedulers name what exists, no number without its source."""

import re

from tests.docs import references
from tests.docs.pages import ROOT

PAGE = ROOT / "docs/faq.md"
TEXT = PAGE.read_text()
BESIDE = (ROOT / "docs/beside-others.md").read_text()
PEERS = ("Volcano", "Kueue", "YuniKorn", "KAI", "coscheduling", "Koordinator")
COMPARED = ["Shuntyard", "Kueue", "Volcano", "KAI", "YuniKorn"]


def test_each_peer_is_listed_with_its_advantages() -> None:
    table = BESIDE.partition("| you need | take |")[2].partition("\n\n")[0]
    assert [peer for peer in PEERS if f"**{peer}**" not in table] == []


def test_the_readme_compares_in_five_lines_and_leads_to_the_page() -> None:
    section = (
        (ROOT / "README.md").read_text().partition("## Beside others")[2].partition("\n## ")[0]
    )
    rows = re.findall(r"^\| \*\*(\w+)\*\* \|", section, re.MULTILINE)
    assert rows == COMPARED
    assert "(docs/beside-others.md)" in section


def test_the_features_are_compared_with_each_of_the_four() -> None:
    table = BESIDE.partition("## Feature by feature")[2].partition("\n## ")[0].strip()
    rows = [line.strip("|").split("|") for line in table.splitlines()]
    assert [cell.strip() for cell in rows[0]] == ["", *COMPARED]
    assert {len(row) for row in rows} == {6}
    assert all(cell.strip() for row in rows[2:] for cell in row)


def test_everything_that_the_page_names_exists() -> None:
    assert references.odd_settings(TEXT) == []
    assert references.odd_keys(TEXT) == set()


def test_rates_are_on_the_page_of_their_measurement() -> None:
    assert re.findall(r"\d[\d.,]* *(?:pods/s|pods a second|%)", TEXT) == []
    published = BESIDE.partition("They were measured by others")
    assert "https://github.com/songmingming0827/kube-scheduling-perf" in published[2]
    assert re.findall(r"\d[\d.,]* *(?:pods/s|pods a second|%)", published[0]) == []
