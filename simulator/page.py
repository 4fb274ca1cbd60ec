"""``shuntyard-sim page``: puts the kept outcomes into docs/reproduction.md and docs/compare.md.

A page has its words; between ``<!-- experiment NAME -->`` or ``<!-- comparison NAME -->`` and
``<!-- end -->`` stands what the JSON file of that name in the folder beside the page says, made
anew. Nothing else is a source of the tables.
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from simulator import results
from simulator.results import Outcome

PAGES: Final = (Path("docs/reproduction.md"), Path("docs/compare.md"))
NOT_RUN: Final = "Not run yet."
_BLOCK: Final = re.compile(
    r"(<!-- (experiment|comparison) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument(
        "--page", type=Path, action="append", help="only this page; may be repeated"
    )
    parser.add_argument("--check", action="store_true", help="change nothing: is it up to date?")


def run(options: argparse.Namespace) -> int:
    """Write the pages, or check them; return the exit code."""
    stale = [page for page in options.page or PAGES if not _current(page, write=not options.check)]
    for page in stale if options.check else ():
        print(f"{page} is out of date")
    if options.check and not stale:
        print("up to date")
    return int(options.check and bool(stale))


def _current(page: Path, *, write: bool) -> bool:
    """Say whether a page is up to date; if it is not, write it where that is asked for."""
    before = page.read_text()
    after = filled(before, folder_of(page))
    if write and after != before:
        page.write_text(after)
    return after == before


def folder_of(page: Path) -> Path:
    """Return where the outcomes of a page are: in the folder of its name."""
    return page.with_suffix("")


def filled(page: str, folder: Path) -> str:
    """Return the page with what lies in the folder.

    Raises:
        msgspec.ValidationError: A file holds something else than an outcome.
    """

    def block(match: re.Match[str]) -> str:
        opening, kind, name, closing = match.groups()
        return "\n".join([opening.rstrip("\n"), *_block(kind, name, folder), closing])

    return _BLOCK.sub(block, page)


def places(page: str) -> tuple[str, ...]:
    """Return the names of the outcomes that a page has a place for."""
    return tuple(match[2] for match in _BLOCK.findall(page))


def _block(kind: str, name: str, folder: Path) -> Iterator[str]:
    file = folder / f"{name}.json"
    if not file.exists():
        yield f"### `{name}`"
        yield ""
        command = "compare" if kind == "comparison" else f"reproduce {name}"
        yield f"{NOT_RUN} `shuntyard-sim {command}` runs it."
    elif kind == "comparison":
        yield from _compared(results.read(file), name, folder)
    else:
        yield from _shown(results.read(file), folder)


def _compared(outcome: Outcome, name: str, folder: Path) -> Iterator[str]:
    yield _how(outcome, name, folder)
    yield ""
    yield f"![bars and front]({folder.name}/{name}.svg)"
    yield ""
    for table in outcome.tables:
        yield from results.markdown(table)
        yield ""
    yield from (f"- {finding}" for finding in outcome.findings)


def _shown(outcome: Outcome, folder: Path) -> Iterator[str]:
    yield f"### {outcome.title}"
    yield ""
    yield f"{outcome.source.rstrip('.')}."
    yield ""
    picture = folder / f"{outcome.name}.svg"
    if picture.exists():
        yield f"![{outcome.title}]({folder.name}/{picture.name})"
        yield ""
    for table in outcome.tables:
        yield from results.markdown(table)
        yield ""
    yield from _list("What came out:", outcome.findings)
    yield from _list("Assumed where the paper is silent:", outcome.assumptions)
    yield _how(outcome, outcome.name, folder)


def _list(head: str, points: tuple[str, ...]) -> Iterator[str]:
    if points:
        yield head
        yield ""
        yield from (f"- {point}" for point in points)
        yield ""


def _how(outcome: Outcome, name: str, folder: Path) -> str:
    """Return by which command, with which seeds and in which time it was made."""
    ranges = [f"{use}: seeds {first} to {last}" for use, first, last in outcome.seeds]
    made = [f"`{outcome.command}`", *ranges, f"{outcome.seconds:.0f} s"]
    return " · ".join([*made, f"[all numbers]({folder.name}/{name}.json)"])
