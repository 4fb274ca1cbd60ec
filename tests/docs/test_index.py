"""The index has every page; what it leaves to other indexes is in those."""

from tests.docs import said
from tests.docs.pages import ROOT, short

DOCS = ROOT / "docs"
INDEX = DOCS / "README.md"
OF_OTHERS = {"runbooks": DOCS / "monitoring.md", "reproduction": DOCS / "reproduction.md"}


def test_every_page_has_its_line() -> None:
    own = {page for page in DOCS.rglob("*.md") if page.parent.name not in OF_OTHERS} - {INDEX}
    told = {path for path in said.linked(INDEX) if path.is_relative_to(DOCS)}
    assert sorted(map(short, own - told)) == []
    rows = [line for line in INDEX.read_text().splitlines() if line.startswith("| [")]
    assert len(rows) == len(told) + 1  # one line each, and deploy/README.md


def test_runbooks_are_in_their_own_index() -> None:
    pages = set((DOCS / "runbooks").glob("*.md"))
    assert pages
    assert pages <= said.linked(OF_OTHERS["runbooks"])


def test_pages_at_the_top_are_found_from_the_readme() -> None:
    top = {page.resolve() for page in ROOT.glob("*.md")} - {ROOT / "README.md"}
    reachable = said.linked(ROOT / "README.md") | said.linked(INDEX)
    assert sorted(map(short, top - reachable)) == []
