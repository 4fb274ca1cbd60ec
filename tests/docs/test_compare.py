"""The comparison page and its appendices show the kept results."""

from simulator import page, results
from simulator.comparison.policies import POLICIES
from simulator.traces import own
from simulator.traces.opening import FORMATS
from tests.docs.pages import ROOT

FILE = ROOT / "docs/compare.md"
PAGE = FILE.read_text()
KEPT = sorted((ROOT / "docs/compare").glob("*.json"))


def test_the_page_is_current_and_has_a_place_for_each_outcome() -> None:
    """`shuntyard-sim page` makes it so."""
    assert sorted(page.places(PAGE)) == [path.stem for path in KEPT]
    assert [str(file) for file, text in page.files(FILE) if file.read_text() != text] == []
    assert all(path.with_suffix(".svg").exists() for path in KEPT)


def test_the_outcomes_that_are_shown_are_held_out() -> None:
    assert len(KEPT) == 3
    assert {results.read(path).seeds[0][0] for path in KEPT} == {"held out"}


def test_the_pages_name_every_policy_every_format_and_every_field() -> None:
    traces = (ROOT / "docs/traces.md").read_text()
    missing = [name for name in POLICIES if f"`{name}`" not in PAGE]
    missing += [name for name in (*FORMATS, *own.FIELDS) if f"`{name}`" not in traces]
    assert missing == []
