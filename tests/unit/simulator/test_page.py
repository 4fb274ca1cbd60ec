"""What the page of the papers shows of an outcome, and of one that is not there."""

import argparse
from pathlib import Path

import pytest

from simulator import page, results
from simulator.numbers import spread
from simulator.results import Beside, Outcome, Table

BLOCK = "Words.\n\n<!-- experiment some-thing -->\nold\n<!-- end -->\n\nMore words.\n"
OUTCOME = Outcome(
    name="some-thing",
    title="Some thing",
    source="A paper, Fig. 3.",
    command="shuntyard-sim reproduce some-thing",
    seeds=(("in sample", 1, 40), ("held out", 1001, 1040)),
    assumptions=("Nodes are equal.",),
    findings=("Twice as fast.",),
    tables=(Table("Speed", ("who", "speed"), (("us", Beside(spread([2.0, 4.0]), 1.5)),), 1),),
    seconds=12.3,
)
SHOWN = """\
<!-- experiment some-thing -->
### Some thing

A paper, Fig. 3.

**Speed**

| who | speed |
|---|---|
| us | 3.0 ± 1.4 / 1.5 (2.00) |

What came out:

- Twice as fast.

Assumed where the paper is silent:

- Nodes are equal.

`shuntyard-sim reproduce some-thing` · in sample: seeds 1 to 40 · held out: seeds 1001 to 1040 · \
12 s · [all numbers](reproduction/some-thing.json)
<!-- end -->
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "reproduction"
    results.write(OUTCOME, made / "some-thing.json")
    return made


def test_an_outcome_is_shown_whole(folder: Path) -> None:
    filled = page.filled(BLOCK, folder)
    assert SHOWN in filled
    assert (filled.startswith("Words.\n"), filled.endswith("\nMore words.\n")) == (True, True)


def test_filling_twice_changes_nothing(folder: Path) -> None:
    once = page.filled(BLOCK, folder)
    assert page.filled(once, folder) == once


def test_a_picture_is_shown_if_it_is_there(folder: Path) -> None:
    (folder / "some-thing.svg").write_text("<svg/>")
    assert "\n![Some thing](reproduction/some-thing.svg)\n" in page.filled(BLOCK, folder)


def test_what_was_not_run_says_how(tmp_path: Path) -> None:
    filled = page.filled(BLOCK, tmp_path)
    assert "Not run yet. `shuntyard-sim reproduce some-thing` runs it.\n<!-- end -->" in filled
    assert "old" not in filled


def test_the_command_writes_and_checks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder.with_suffix(".md")
    file.write_text(BLOCK)

    def run(*arguments: str) -> int:
        parser = argparse.ArgumentParser()
        page.add_arguments(parser)
        return page.run(parser.parse_args(["--page", str(file), *arguments]))

    assert run("--check") == 1
    assert file.read_text() == BLOCK
    assert run() == 0
    assert run("--check") == 0
    assert capsys.readouterr().out == f"{file} is out of date\nup to date\n"


COMPARED = """\
<!-- comparison some-thing -->
`shuntyard-sim reproduce some-thing` · in sample: seeds 1 to 40 · held out: seeds 1001 to 1040 · \
12 s · [all numbers](reproduction/some-thing.json)

![bars and front](reproduction/some-thing.svg)

**Speed**

| who | speed |
|---|---|
| us | 3.0 ± 1.4 / 1.5 (2.00) |

- Twice as fast.
<!-- end -->
"""


def test_a_comparison_is_shown_by_command_picture_tables_and_findings(folder: Path) -> None:
    filled = page.filled(BLOCK.replace("experiment", "comparison"), folder)
    assert filled == f"Words.\n\n{COMPARED}\nMore words.\n"


def test_without_a_page_named_all_pages_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(Path, "read_text", lambda self: asked.append(self) or "Words.\n")
    parser = argparse.ArgumentParser()
    page.add_arguments(parser)
    assert page.run(parser.parse_args(["--check"])) == 0
    assert asked == [Path("docs/reproduction.md"), Path("docs/compare.md")]
