"""The index has every page; what it leaves to other indexes is in those."""

import re

import pytest

from tests.docs import references
from tests.docs.pages import ROOT, short

DOCS = ROOT / "docs"
INDEX = DOCS / "README.md"
OF_OTHERS = {
    "runbooks": DOCS / "monitoring.md",
    "reproduction": DOCS / "reproduction.md",
    "compare": DOCS / "compare.md",
}


def test_every_page_is_linked() -> None:
    own = {page for page in DOCS.rglob("*.md") if page.parent.name not in OF_OTHERS} - {INDEX}
    assert sorted(map(short, own - references.linked(INDEX))) == []


def test_a_reader_chooses_one_of_four_paths() -> None:
    paths = re.findall(r"^## (.*)$", INDEX.read_text(), re.MULTILINE)
    assert paths == ["Users", "Administrators", "Researchers", "Contributors"]


@pytest.mark.parametrize("folder", OF_OTHERS)
def test_pages_of_a_folder_with_its_own_index_are_in_it(folder: str) -> None:
    pages = set((DOCS / folder).glob("*.md"))
    assert pages
    assert pages <= references.linked(OF_OTHERS[folder])


def test_pages_at_the_top_are_found_from_the_readme() -> None:
    top = {page.resolve() for page in ROOT.glob("*.md")} - {ROOT / "README.md"}
    reachable = references.linked(ROOT / "README.md") | references.linked(INDEX)
    assert sorted(map(short, top - reachable)) == []
