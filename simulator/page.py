"""``shuntyard-sim page``: puts the kept results into docs/reproduction.md and docs/compare.md.

A page has hand-written text and blocks. A block lies between ``<!-- experiment NAME -->`` or
``<!-- comparison NAME -->`` and ``<!-- end -->`` and is made from the JSON file of that name in the
folder beside the page: the picture and the first findings. The tables, the other findings and the
assumptions go into an appendix, NAME.md in the same folder.
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from simulator import results
from simulator.appendix import appendix, bullets, heading, picture

PAGES: Final = (Path("docs/reproduction.md"), Path("docs/compare.md"))
NOT_RUN: Final = "Not run yet."
_EXPERIMENT: Final = "experiment"
_COMPARISON: Final = "comparison"
_SHOWN: Final = 3
"""So many findings of an experiment are on the page; all of them are in the appendix."""
_BLOCK: Final = re.compile(
    rf"(<!-- ({_EXPERIMENT}|{_COMPARISON}) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument(
        "--page", type=Path, action="append", help="only this page; may be repeated"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a page is out of date"
    )


def run(options: argparse.Namespace) -> int:
    """Write the pages and their appendices, or check them; return the exit code."""
    stale = [
        file
        for page in options.page or PAGES
        for file, text in files(page)
        if not _current(file, text, write=not options.check)
    ]
    for file in stale if options.check else ():
        print(f"{file} is out of date")
    if options.check and not stale:
        print("up to date")
    return int(options.check and bool(stale))


def _current(file: Path, text: str, *, write: bool) -> bool:
    """Return True if a file has this text; if not, write it where ``write`` is set."""
    before = file.read_text() if file.exists() else ""
    if write and text != before:
        file.write_text(text)
    return text == before


def files(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the page and each of its appendices with the text that it should have.

    Raises:
        msgspec.ValidationError: A JSON file is no outcome.
    """
    folder, text = folder_of(page), page.read_text()
    yield page, filled(text, folder)
    for name in places(text):
        file = folder / f"{name}.json"
        if file.exists():
            yield folder / f"{name}.md", appendix(results.read(file), name, folder)


def folder_of(page: Path) -> Path:
    """Return the folder of a page's results: the one with the page's name."""
    return page.with_suffix("")


def filled(page: str, folder: Path) -> str:
    """Return the page with its blocks made from the files in the folder.

    Raises:
        msgspec.ValidationError: A file is no outcome.
    """

    def block(match: re.Match[str]) -> str:
        opening, kind, name, closing = match.groups()
        return "\n".join([opening.rstrip("\n"), *_block(kind, name, folder), closing])

    return _BLOCK.sub(block, page)


def places(page: str) -> tuple[str, ...]:
    """Return the names of the outcomes that a page has a block for."""
    return tuple(match[2] for match in _BLOCK.findall(page))


def _block(kind: str, name: str, folder: Path) -> Iterator[str]:
    file = folder / f"{name}.json"
    if not file.exists():
        yield f"### `{name}`"
        yield ""
        command = "compare" if kind == _COMPARISON else f"reproduce {name}"
        yield f"{NOT_RUN} `shuntyard-sim {command}` runs it."
        return
    outcome = results.read(file)
    shown = outcome.findings
    if kind == _EXPERIMENT:
        yield from heading(outcome, "###")
        shown = shown[:_SHOWN]
    yield from picture(outcome, name, folder, f"{folder.name}/")
    yield from bullets("", shown)
    yield f"[Tables, all findings and assumptions]({folder.name}/{name}.md)"
