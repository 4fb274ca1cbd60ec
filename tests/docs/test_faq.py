"""The page of questions names what exists, and no number of its own that nobody measured."""

import re

from tests.docs import said
from tests.docs.pages import ROOT

PAGE = ROOT / "docs/faq.md"
TEXT = PAGE.read_text()
PEERS = ("Volcano", "Kueue", "YuniKorn", "KAI", "coscheduling", "Koordinator")


def test_each_peer_is_there_with_what_it_does_better() -> None:
    table = TEXT.partition("| you need | take |")[2].partition("\n\n")[0]
    assert [peer for peer in PEERS if f"**{peer}**" not in table] == []


def test_what_it_names_exists() -> None:
    assert said.odd_settings(TEXT) == []
    assert said.odd_keys(TEXT) == set()


def test_rates_stand_on_the_page_that_says_how_they_were_measured() -> None:
    assert re.findall(r"\d[\d.,]* *(?:pods/s|pods a second|%)", TEXT) == []
