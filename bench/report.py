"""``python -m bench report``: writes the kept results into the pages that show them.

A page has hand-written text; the tables between ``<!-- table NAME FILE -->`` and ``<!-- end -->``
are made from the JSON files in docs/performance.
"""

import argparse
import json
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

PAGES: Final = (
    Path("docs/performance.md"),
    Path("docs/performance-more.md"),
    Path("docs/high-availability.md"),
    Path("docs/compare.md"),
)
FOLDER: Final = Path("docs/performance")
_BLOCK: Final = re.compile(r"(<!-- table (\S+) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_FILES: Final = re.compile(r" --(json|plot) \S+")
PICTURE: Final = "picture"
"""Name of a block that shows a plot instead of a table."""
_NOTHING: Final = "*Not measured yet.*"

Content = Mapping[str, Any]
Row = Mapping[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--page", type=Path, nargs="+", default=PAGES, help="the pages")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the results")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a page is out of date"
    )


def run(options: argparse.Namespace) -> int:
    """Write the pages, or check them; return the exit code."""
    stale = [page for page in options.page if not _current(page, options)]
    if options.check:
        print("\n".join(f"{page} is out of date" for page in stale) or "up to date")
    return int(options.check and bool(stale))


def _current(page: Path, options: argparse.Namespace) -> bool:
    """Return True if a page was up to date; if not, write it where ``write`` is set."""
    before = page.read_text()
    after = filled(before, options.folder)
    if not options.check:
        page.write_text(after)
    return after == before


def filled(page: str, folder: Path) -> str:
    """Return the page with the tables of the results in the folder.

    Raises:
        KeyError: A block names an unknown table.
    """

    def table(match: re.Match[str]) -> str:
        opening, name, file, closing = match.groups()
        return f"{opening}{_table(name, folder / file)}\n{closing}"

    return _BLOCK.sub(table, page)


def _table(name: str, file: Path) -> str:
    if name == PICTURE:
        return f"![{file.stem}]({FOLDER.name}/{file.name})" if file.exists() else _NOTHING
    make = TABLES[name]
    if not file.exists():
        return _NOTHING
    content = json.loads(file.read_text())
    return "\n".join([*make(content["rows"]), "", source(content, file.name)])


def source(content: Content, name: str) -> str:
    """Return the line with the command, its date and a link to the machine and the versions."""
    at = datetime.fromtimestamp(content["at"], UTC).date().isoformat()
    busy = " **The machine was busy: compare only within the table.**" if content["busy"] else ""
    command = _FILES.sub("", content["command"])
    return f"`{command}` · {at}, [machine and versions]({FOLDER.name}/{name}).{busy}"


def rates(rows: Sequence[Row]) -> Iterator[str]:
    """Yield pods bound per second: a line per scheduler, a column per shape."""
    yield from _by_shape(rows, _rate)


def waits(rows: Sequence[Row]) -> Iterator[str]:
    """Yield seconds from a pod's create to its bind, median and 99th percentile."""
    yield from _by_shape(rows, _wait)
    torn = sum(row["partial_gangs"] for row in rows)
    yield ""
    yield f"Gangs that were only partly bound at the end of a run: {torn}."


def growth(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the pods per second at both ends of long runs, and the extender's memory."""
    yield from _head(
        ["gangs by pods", "scheduler", "first tenth", "last tenth", "memory of the extender"]
    )  # fmt: skip
    for row in rows:
        ends = [f"{rate:.0f}" for rate in row["tenths_per_second"]]
        most = row.get("extender_most_mib")
        size = f"{row['extender_mib'] or 0:.0f} MiB" + (f", at most {most:.0f}" if most else "")
        if row["extender_mib"] is None:
            size = ""
        yield _line([_times(row["shape"]), row["scheduler"], *ends, size])


def costs(rows: Sequence[Row]) -> Iterator[str]:
    """Yield CPU milliseconds per pod, by process."""
    parts = sorted({part for row in rows for part in row["cpu_ms_per_pod"]})
    yield from _head(["gangs by pods", "scheduler", *parts, "total"])
    for row in rows:
        by_process = row["cpu_ms_per_pod"]
        cells = [f"{by_process[part]:.2f}" if part in by_process else "" for part in parts]
        yield _line(
            [_times(row["shape"]), row["scheduler"], *cells, f"{sum(by_process.values()):.1f}"]
        )


def filters(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the times of answers to filter."""
    yield from _head(
        ["pod", "nodes offered", "a pod changed before each call", "request", "p50", "p99", "CPU"]
    )
    for row in rows:
        times = [f"{row[key]:.2f} ms" for key in ("p50_ms", "p99_ms", "cpu_ms")]
        changing = "yes" if row["changing"] else "no"
        size = f"{row['body_bytes'] / 1000:.0f} kB"
        yield _line([row["pod"], str(row["nodes"]), changing, size, *times])


def plans(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the times of planning."""
    yield from _head(["nodes", "pods of the gang", "reading the job", "planning", "whole cycle"])
    for row in rows:
        times = [f"{row[key]:.1f} ms" for key in ("view_ms", "plan_ms", "cycle_ms")]
        yield _line([str(row["nodes"]), str(row["gang"]), *times])


def decisions(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the times of a decision about one job, and the loss by the coarse search."""
    yield from _head(
        ["policy", "servers", "slots", "mean", "median", "p95", "longest",
         "decided as in 3000 steps", "payoff lost"]
    )  # fmt: skip
    for row in rows:
        sizes = [str(row["servers"]), str(row["slots"])]
        times = [f"{row[key]:.2f} ms" for key in ("mean_ms", "median_ms", "p95_ms", "max_ms")]
        equal, loss = row["equal_share"], row["payoff_loss_percent"]
        finer = ["-", "-"] if equal is None else [f"{equal:.1%}", f"{loss:.3f} %"]
        yield _line([row["policy"], *sizes, *times, *finer])


def scaling(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the times of a pass of the rule ``scaling``."""
    yield from _head(["pass", "nodes", "changes", "median", "longest"])
    for row in rows:
        times = [f"{row[key]:.1f} ms" for key in ("median_ms", "max_ms")]
        yield _line([row["what"], str(row["nodes"]), str(row["changes"]), *times])


def elastic(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the results of live elastic jobs: a line per experiment, seed and contestant."""
    yield from _head(
        ["experiment", "seed", "workers by", "makespan", "simulated", "mean job time", "last job",
         "rescales", "final loss differs by", "steps skipped or repeated"]
    )  # fmt: skip
    for row in rows:
        times = [f"{row[k]:.1f} s" for k in ("makespan", "simulated_makespan", "mean", "urgent")]
        wrong = sum(job["missing_steps"] + job["repeated_steps"] for job in row["jobs"])
        ends = [str(row["rescales"]), f"{row['loss_difference']:.0e}", str(wrong)]
        yield _line([row["experiment"], str(row["seed"]), row["contestant"], *times, *ends])


def orders(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the results of orders, live beside simulated, and their ratios."""
    from bench.orders import outcome  # noqa: PLC0415 - commands import this module

    yield from outcome.table(outcome.read(rows))


def simulated(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the speed of the simulator, by growing quantity."""
    yield from _head(
        ["grows", "jobs", "nodes", "waiting jobs", "jobs per second", "one pass", "peak memory"]
    )
    for row in rows:
        sizes = [f"{row[key]:,}" for key in ("jobs", "nodes", "backlog")]
        speed = [f"{row['jobs_per_second']:.0f}", f"{row['look_ms']:.1f} ms"]
        yield _line([row["by"], *sizes, *speed, f"{row['peak_bytes'] / 1e6:.0f} MB"])


def waiting(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the CPU use of waiting pods at rest, in percent of a core."""
    parts = list(rows[0]["core_share"])
    yield from _head(["pods", "gangs", "kind", *parts, "memory of the extender"])
    for row in rows:
        shares = [f"{100 * row['core_share'][part]:.1f} %" for part in parts]
        memory = f"{row['resident_bytes']['extender'] / 1e6:.0f} MB"
        yield _line([str(row["pods"]), str(row["gangs"]), row["kind"], *shares, memory])


def takeover(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the times of takeovers, by what happened to the leader."""
    yield from _head(
        ["what happened to the leader", "rounds", "the standby leads, median", "worst",
         "a gang submitted meanwhile is bound, median", "worst"]
    )  # fmt: skip
    for happening in dict.fromkeys(row["happening"] for row in rows):
        ones = [row for row in rows if row["happening"] == happening]
        cells = []
        for key in ("acting_seconds", "bound_seconds"):
            values = [row[key] for row in ones]
            cells += [f"{statistics.median(values):.1f} s", f"{max(values):.1f} s"]
        yield _line([happening, str(len(ones)), *cells])
    torn = sum(row["bound"] != rows[0]["wanted"] for row in rows)
    yield ""
    yield f"Gangs of {rows[0]['wanted']} that were incomplete at the end: {torn}."


def memory(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the memory of the store."""
    yield from _head(
        ["nodes", "pods", "process without the store", "with the store", "with views of all jobs",
         "while the log begins a segment", "applying an event", "first snapshot",
         "snapshot after one change"]
    )  # fmt: skip
    parts = ("base_bytes", "with_snapshot_bytes", "with_views_bytes", "with_opening_bytes")
    for row in rows:
        sizes = [f"{row[key] / 1e6:.0f} MB" for key in parts]
        times = [f"{row['apply_us']:.0f} µs", f"{row['snapshot_ms']:.1f} ms"]
        changed = f"{row['next_snapshot_ms']:.2f} ms"
        yield _line([str(row["nodes"]), str(row["pods"]), *sizes, *times, changed])


def series(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the numbers of series of a cluster."""
    yield from _head(["program", "nodes", "pods", "series", "page", "rendering", "measuring"])
    for row in rows:
        sizes = [f"{row[key]:,}" for key in ("nodes", "pods", "series")]
        page = f"{row['page_bytes'] / 1000:.0f} kB"
        times = [f"{row['render_ms']:.1f} ms", f"{row['look_ms']:.0f} ms"]
        yield _line([row["program"], *sizes, page, *times])


def scrapes(rows: Sequence[Row]) -> Iterator[str]:
    """Yield Prometheus' measures of scrapes in a live run."""
    yield from _head(["job", "instance", "series", "scrapes", "median", "longest"])
    for row in rows:
        counts = [str(row[key]) for key in ("series", "scrapes")]
        times = [f"{1000 * row[key]:.1f} ms" for key in ("median_seconds", "longest_seconds")]
        yield _line([row["job"], row["instance"], *counts, *times])


def profile(rows: Sequence[Row]) -> Iterator[str]:
    """Yield where the extender's time goes."""
    yield from _head(["part of the extender", "share"])
    for row in rows:
        yield _line([row["part"], f"{100 * row['share']:.0f} %"])


TABLES: Final[Mapping[str, Callable[[Sequence[Row]], Iterator[str]]]] = {
    "rates": rates,
    "waits": waits,
    "growth": growth,
    "costs": costs,
    "filters": filters,
    "plans": plans,
    "waiting": waiting,
    "memory": memory,
    "profile": profile,
    "series": series,
    "scrapes": scrapes,
    "decisions": decisions,
    "scaling": scaling,
    "simulated": simulated,
    "elastic": elastic,
    "orders": orders,
    "takeover": takeover,
}


def _by_shape(rows: Sequence[Row], cell: Callable[[Row], str]) -> Iterator[str]:
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    cells = {(row["scheduler"], row["shape"]): cell(row) for row in rows}
    yield from _head(["scheduler", *map(_times, shapes)])
    for scheduler in dict.fromkeys(row["scheduler"] for row in rows):
        yield _line([scheduler, *(cells.get((scheduler, shape), "-") for shape in shapes)])


def _rate(row: Row) -> str:
    ratio = "" if row["ratio_to_plain"] is None else f" ({row['ratio_to_plain']:.2f}{_spread(row)})"
    lacking = "" if row["pods"] == row["wanted"] else f", {row['pods']} of {row['wanted']} bound"
    return f"{row['bound_per_second']:.0f}{ratio}{lacking}"


def _spread(row: Row) -> str:
    ratios = row["ratios"]
    return f"; {min(ratios):.2f}-{max(ratios):.2f}" if len(set(ratios)) > 1 else ""


def _wait(row: Row) -> str:
    return f"{row['p50_seconds']:.1f} / {row['p99_seconds']:.1f}" if row["pods"] else "none bound"


def _times(shape: str) -> str:
    return shape.replace("x", " by ")


def _head(columns: Sequence[str]) -> Iterator[str]:
    yield _line(columns)
    yield _line(["---"] * len(columns))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
