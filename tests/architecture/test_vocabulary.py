"""Words that make programs persons, or that say nothing: none where there are none, never more.

A budget may only shrink: lower it when words go. Zero is left out.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.sources import ROOT, python_files

WORDS: Final[Mapping[str, re.Pattern[str]]] = {
    name: re.compile(rf"(?:\b|_)(?:{words})(?:\b|_)", re.IGNORECASE)
    for name, words in {
        "persons": "nobody|somebody|everybody|whoever",
        "say whether": "say whether",
        "he": "he|him|his|himself",
        "speech": "said|told|heard",
    }.items()
}
"""Better: "no job", "another client", "all pods"; "True if"; "the caller"; "logged", "reported"."""

BUDGETS: Final[Mapping[str, Mapping[str, int]]] = {
    ".": {"speech": 2},  # names of before, in the changelog
    "tests": {"speech": 4},
    "extender/core": {"persons": 4, "speech": 1},
}
FILE: Final = Path(__file__).name
TOP: Final = "."
"""Only its pages: README, CHANGELOG and the like."""
FOLDERS: Final = (
    TOP, "agent", "bench", "cli", "deploy", "devcluster", "docs", "examples", "monitoring",
    "release", "shared", "simulator", "tests", "trainer", "extender/app",
    "extender/controllers", "extender/core", "extender/metrics", "extender/servers",
    "extender/settings", "extender/store", "extender/writers",
)  # fmt: skip


def counts(folder: str) -> Counter[str]:
    pages = [path.relative_to(ROOT) for path in _pages(folder)]
    modules = () if folder == TOP else python_files(folder)
    files = [f for f in (*modules, *pages) if f != Path("tests/architecture") / FILE]
    texts = [(ROOT / file).read_text(encoding="utf-8") for file in files]
    return Counter(
        {
            name: total
            for name, pattern in WORDS.items()
            if (total := sum(len(pattern.findall(text)) for text in texts))
        }
    )


def _pages(folder: str) -> Iterator[Path]:
    return (ROOT / folder).glob("*.md") if folder == TOP else (ROOT / folder).rglob("*.md")


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_has_no_more_such_words_than_its_budget(folder: str) -> None:
    budget = BUDGETS.get(folder, {})
    over = {name: n for name, n in counts(folder).items() if n > budget.get(name, 0)}
    assert over == {}


def test_every_folder_of_the_house_is_counted() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    rooms = {f"extender/{path.parent.name}" for path in (ROOT / "extender").glob("*/__init__.py")}
    assert packages - {"extender"} | rooms <= set(FOLDERS)
