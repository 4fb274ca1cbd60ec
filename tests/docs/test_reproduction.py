"""The page of the papers holds what the kept outcomes say, of every experiment there is."""

from collections import Counter

from simulator import page
from simulator.experiments.registry import EXPERIMENTS
from tests.docs.pages import ROOT

PAGE = ROOT / "docs/reproduction.md"
TEXT = PAGE.read_text()


def test_every_experiment_has_its_place() -> None:
    assert Counter(page.places(TEXT)) == Counter(tuple(EXPERIMENTS))


def test_the_page_is_current() -> None:
    """`shuntyard-sim page` makes it so."""
    assert page.filled(TEXT, page.folder_of(PAGE)) == TEXT
