"""The threat model names files and settings that exist; the release checklist, commands."""

import importlib.util
import re

import pytest

from tests.docs import blocks, references
from tests.docs.pages import ROOT

SECURITY, RELEASING = ROOT / "SECURITY.md", ROOT / "RELEASING.md"
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]*)`")
IN_AN_IMAGE = "opt/"
WHO = ("pod author", "trainer", "agent", "node", "network", "namespace admin", "reader")


@pytest.mark.parametrize("page", [SECURITY, RELEASING], ids=lambda page: page.name)
def test_named_files_exist(page) -> None:
    named = FILE.findall(page.read_text())
    paths = [name for name in named if not name.startswith(("shuntyard.io/", "authentication."))]
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_each_attacker_is_in_the_table_with_the_tests_of_each_row() -> None:
    rows = [line.split(" | ") for line in SECURITY.read_text().splitlines() if line[:2] == "| "]
    model = [row for row in rows if len(row) == 4]
    first = " ".join(row[0] for row in model)
    assert [who for who in WHO if who not in first] == []
    assert all(cell.strip(" |") for row in model for cell in row[1:])
    assert [row for row in model[2:] if "`tests/" not in row[3] and "`docs/" not in row[3]] == []


def test_named_settings_exist() -> None:
    text = SECURITY.read_text()
    assert references.odd_settings(text) == []
    assert references.odd_keys(text) == set()


def test_the_commands_of_the_checklist_exist() -> None:
    run = [b.text for b in blocks.of_page(RELEASING) if b.is_run]
    lines = [line.split() for text in run for line in text.splitlines()]
    assert lines
    for words in lines:
        assert words[0] == "python"
        module = words[words.index("-m") + 1] if "-m" in words else None
        there = importlib.util.find_spec(module) if module else (ROOT / words[1]).exists()
        assert there, words
