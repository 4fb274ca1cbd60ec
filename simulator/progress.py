"""A progress bar for long work, shown only on a terminal."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

T = TypeVar("T")


def shown(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """Yield the items, and show on stderr how many of ``total`` are done."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(what, total=total)
        for item in items:
            bar.advance(task)
            yield item
