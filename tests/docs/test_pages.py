"""What the pages say is there is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, pages, short

LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]*))?\)")
GENERATED = "<!-- Made by docs/generate.py;"
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?<!would )\bmake ([a-z][a-z0-9-]*)")  # `explain` prints "would make it run"
TARGET = re.compile(r"^([a-z][a-z0-9-]*):", re.MULTILINE)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def _anchors(page: Path) -> set[str]:
    """GitHub's anchors: lower case, punctuation dropped, blanks to hyphens."""
    headings = HEADING.findall(FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", pages(), ids=short)
def test_links_have_targets(page: Path) -> None:
    dead = []
    for target, anchor in LINK.findall(FENCE.sub("", page.read_text())):
        where = (page.parent / target) if target else page
        if not where.exists() or (anchor and anchor not in _anchors(where)):
            dead.append(f"{target}#{anchor}")
    assert dead == []


@pytest.mark.parametrize("page", pages(), ids=short)
def test_commands_are_targets_of_the_makefile(page: Path) -> None:
    """Only commands in code: `make` is also a word."""
    text = page.read_text()
    code = "\n".join(FENCE.findall(text) + re.findall(r"`[^`\n]+`", text))
    targets = set(TARGET.findall((ROOT / "Makefile").read_text()))
    assert set(COMMAND.findall(code)) - targets == set()


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize("page", pages(), ids=short)
def test_a_page_is_short_unless_it_is_generated(page: Path) -> None:
    text = page.read_text()
    assert GENERATED in text or len(text.split()) <= 4000


def test_each_decision_record_has_a_number_of_its_own() -> None:
    numbers = [p.name[:4] for p in sorted((ROOT / "docs/adr").glob("*.md"))]
    assert numbers == [f"{i:04}" for i in range(1, len(numbers) + 1)]


@pytest.mark.parametrize("page", sorted((ROOT / "docs/adr").glob("*.md")), ids=short)
def test_a_decision_record_has_its_parts_on_one_page(page: Path) -> None:
    text = page.read_text()
    parts = ("Status:", "## Context", "## Decision", "## Consequences", "## Alternatives")
    assert [part for part in parts if part not in text] == []
    assert len(text.split()) <= 600


def test_every_folder_of_the_house_has_its_paragraph() -> None:
    architecture = (ROOT / "docs/architecture.md").read_text()
    rooms = ["shared", "extender", "cli", "devcluster", "deploy", "tests", "docs", "examples"]
    rooms += [f"extender/{p.parent.name}" for p in (ROOT / "extender").glob("*/__init__.py")]
    assert [room for room in rooms if f"`{room}/`" not in architecture] == []


def test_generated_pages_are_current() -> None:
    command = [sys.executable, "docs/generate.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
