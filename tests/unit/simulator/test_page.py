"""The page of the papers shows an outcome, and one that is missing."""

import argparse
from pathlib import Path

import msgspec
import pytest

from simulator import appendix, page, results
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

Source: A paper, Fig. 3.

- Twice as fast.

[Tables, all findings and assumptions](reproduction/some-thing.md)
<!-- end -->
"""
APPENDIX = f"""\
{appendix.GENERATED}

# Some thing

Source: A paper, Fig. 3.

Overview: [reproduction.md](../reproduction.md). `shuntyard-sim reproduce some-thing` · in sample: \
seeds 1 to 40 · held out: seeds 1001 to 1040 · 12 s · [all numbers](some-thing.json)

Findings:

- Twice as fast.

**Speed**

| who | speed |
|---|---|
| us | 3.0 ± 1.4 / 1.5 (2.00) |

Assumptions:

- Nodes are equal.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "reproduction"
    results.write(OUTCOME, made / "some-thing.json")
    return made


def test_the_page_shows_an_outcome_in_short(folder: Path) -> None:
    filled = page.filled(BLOCK, folder)
    assert SHOWN in filled
    assert (filled.startswith("Words.\n"), filled.endswith("\nMore words.\n")) == (True, True)


def test_the_page_shows_the_first_three_findings_of_an_experiment(folder: Path) -> None:
    many = msgspec.structs.replace(OUTCOME, findings=("One.", "Two.", "Three.", "Four."))
    results.write(many, folder / "some-thing.json")
    assert "- Three.\n\n[Tables" in page.filled(BLOCK, folder)
    assert "- Four.\n" in appendix.appendix(many, "some-thing", folder)


def test_the_appendix_has_the_whole_outcome(folder: Path) -> None:
    folder.with_suffix(".md").write_text(BLOCK)
    made = dict(page.files(folder.with_suffix(".md")))
    assert made == {
        folder.with_suffix(".md"): page.filled(BLOCK, folder),
        folder / "some-thing.md": APPENDIX,
    }


def test_the_appendix_links_to_no_missing_overview(folder: Path) -> None:
    assert "Overview" not in appendix.appendix(OUTCOME, "some-thing", folder)


def test_filling_twice_changes_nothing(folder: Path) -> None:
    once = page.filled(BLOCK, folder)
    assert page.filled(once, folder) == once


def test_a_picture_is_shown_if_it_exists(folder: Path) -> None:
    (folder / "some-thing.svg").write_text("<svg/>")
    assert "\n![Some thing](reproduction/some-thing.svg)\n" in page.filled(BLOCK, folder)
    assert "\n![Some thing](some-thing.svg)\n" in appendix.appendix(OUTCOME, "some-thing", folder)


def test_an_experiment_without_results_shows_its_command(tmp_path: Path) -> None:
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
    stale = [file, folder / "some-thing.md"]
    assert capsys.readouterr().out == "".join(f"{f} is out of date\n" for f in stale) + (
        "up to date\n"
    )


COMPARED = """\
<!-- comparison some-thing -->
![Some thing](reproduction/some-thing.svg)

- Twice as fast.

[Tables, all findings and assumptions](reproduction/some-thing.md)
<!-- end -->
"""


def test_a_comparison_is_shown_by_picture_and_findings(folder: Path) -> None:
    (folder / "some-thing.svg").write_text("<svg/>")
    filled = page.filled(BLOCK.replace("experiment", "comparison"), folder)
    assert filled == f"Words.\n\n{COMPARED}\nMore words.\n"


def test_without_a_page_named_all_pages_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(Path, "read_text", lambda self: asked.append(self) or "Words.\n")
    parser = argparse.ArgumentParser()
    page.add_arguments(parser)
    assert page.run(parser.parse_args(["--check"])) == 0
    assert set(asked) == {Path("docs/reproduction.md"), Path("docs/compare.md")}
