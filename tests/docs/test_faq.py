"""The page of questions names what exists, and no number that was not measured."""

import re

from tests.docs import references
from tests.docs.pages import ROOT

PAGE = ROOT / "docs/faq.md"
TEXT = PAGE.read_text()
PEERS = ("Volcano", "Kueue", "YuniKorn", "KAI", "coscheduling", "Koordinator")


def test_each_peer_is_listed_with_its_advantages() -> None:
    table = TEXT.partition("| you need | take |")[2].partition("\n\n")[0]
    assert [peer for peer in PEERS if f"**{peer}**" not in table] == []


def test_everything_that_the_page_names_exists() -> None:
    assert references.odd_settings(TEXT) == []
    assert references.odd_keys(TEXT) == set()


def test_rates_are_on_the_page_of_their_measurement() -> None:
    assert re.findall(r"\d[\d.,]* *(?:pods/s|pods a second|%)", TEXT) == []
