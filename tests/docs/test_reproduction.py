"""The reproduction page and its appendices show the kept results of every experiment."""

from collections import Counter

from simulator import page
from simulator.experiments.registry import EXPERIMENTS
from tests.docs.pages import ROOT

PAGE = ROOT / "docs/reproduction.md"
TEXT = PAGE.read_text()


def test_every_experiment_has_a_section() -> None:
    assert Counter(page.places(TEXT)) == Counter(tuple(EXPERIMENTS))


def test_the_page_is_current() -> None:
    """`shuntyard-sim page` makes it so."""
    assert [str(file) for file, text in page.files(PAGE) if file.read_text() != text] == []
