"""The parts of a page that are made from a result, and the appendix that shows all of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from simulator import results
from simulator.results import Outcome

GENERATED: Final = "<!-- Made by `shuntyard-sim page` from the JSON file beside it. -->"


def appendix(outcome: Outcome, name: str, folder: Path) -> str:
    """Return the page with all that was found; ``folder`` is where the page and NAME.json lie."""
    overview = folder.with_suffix(".md")
    back = f"Overview: [{overview.name}](../{overview.name}). " if overview.exists() else ""
    lines = [GENERATED, "", *heading(outcome, "#"), f"{back}{_how(outcome, name)}", ""]
    lines += picture(outcome, name, folder, "")
    lines += bullets("Findings:", outcome.findings)
    for table in outcome.tables:
        lines += [*results.markdown(table), ""]
    lines += bullets("Assumptions:", outcome.assumptions)
    return "\n".join(lines)


def heading(outcome: Outcome, level: str) -> Iterator[str]:
    """Yield the title as a heading of this level, and the source."""
    yield f"{level} {outcome.title}"
    yield ""
    yield f"Source: {outcome.source.rstrip('.')}."
    yield ""


def picture(outcome: Outcome, name: str, folder: Path, prefix: str) -> Iterator[str]:
    """Yield the picture NAME.svg if the folder has it; ``prefix`` goes before its name."""
    file = folder / f"{name}.svg"
    if file.exists():
        yield f"![{outcome.title}]({prefix}{file.name})"
        yield ""


def bullets(head: str, points: tuple[str, ...]) -> Iterator[str]:
    """Yield a list of points under a head line; nothing where there are none."""
    if points:
        yield from (head, "") if head else ()
        yield from (f"- {point}" for point in points)
        yield ""


def _how(outcome: Outcome, name: str) -> str:
    """Return the command, the seeds and the time of a run, and where its numbers are."""
    ranges = [f"{use}: seeds {first} to {last}" for use, first, last in outcome.seeds]
    parts = [f"`{outcome.command}`", *ranges, f"{outcome.seconds:.0f} s"]
    return " · ".join([*parts, f"[all numbers]({name}.json)"])
