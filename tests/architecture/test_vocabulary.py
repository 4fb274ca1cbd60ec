"""Words that make programs persons, or that say nothing: none where there are none, never more.

A budget may only shrink: lower it when words go. Zero is left out.
"""

import re
from collections import Counter
from collections.abc import Mapping
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
    "bench": {"speech": 8},
    "devcluster": {"speech": 1},
    "docs": {"persons": 2, "speech": 10},
    "examples": {"speech": 8},
    "shared": {"speech": 2},
    "simulator": {"persons": 1},
    "tests": {"persons": 460, "say whether": 17, "he": 11, "speech": 1600},
    "extender/app": {"persons": 4, "say whether": 1, "he": 1, "speech": 10},
    "extender/controllers": {"persons": 13, "say whether": 3, "speech": 4},
    "extender/core": {"persons": 200, "say whether": 92, "he": 1, "speech": 352},
    "extender/servers": {"persons": 48, "say whether": 13, "he": 31, "speech": 85},
    "extender/store": {"persons": 9, "say whether": 8, "speech": 9},
    "extender/writers": {"persons": 19, "say whether": 9, "speech": 15},
}
FILE: Final = Path(__file__).name
FOLDERS: Final = (
    "agent", "bench", "cli", "devcluster", "docs", "examples", "monitoring", "release", "shared",
    "simulator", "tests", "trainer", "extender/app", "extender/controllers", "extender/core",
    "extender/metrics", "extender/servers", "extender/settings", "extender/store",
    "extender/writers",
)  # fmt: skip


def counts(folder: str) -> Counter[str]:
    pages = [path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.md")]
    files = [f for f in (*python_files(folder), *pages) if f != Path("tests/architecture") / FILE]
    texts = [(ROOT / file).read_text(encoding="utf-8") for file in files]
    return Counter(
        {
            name: total
            for name, pattern in WORDS.items()
            if (total := sum(len(pattern.findall(text)) for text in texts))
        }
    )


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_has_no_more_such_words_than_its_budget(folder: str) -> None:
    budget = BUDGETS.get(folder, {})
    over = {name: n for name, n in counts(folder).items() if n > budget.get(name, 0)}
    assert over == {}


def test_every_folder_of_the_house_is_counted() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    rooms = {f"extender/{path.parent.name}" for path in (ROOT / "extender").glob("*/__init__.py")}
    assert packages - {"extender"} | rooms <= set(FOLDERS)
