"""Prices of the time slots to come as heat maps: on a terminal, or as an SVG picture."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from cli.errors import UnansweredError
from cli.views.amounts import duration, number
from cli.views.table import more
from cli.views.terminal import Terminal
from shared.readapi.pricing import SlotPrices, SlotRow

MOST_ROWS: Final = 40
"""Rows that are shown without ``-o wide``."""
COLOURS: Final = (17, 18, 19, 25, 31, 71, 142, 178, 208, 196)
"""From idle to full, of the 256 that terminals have."""
SHADES: Final = "·░▒▓█"
"""The same without colours."""
PLAIN: Final = ".:+%#"
"""The same where the terminal's encoding has no blocks either."""
_BACKGROUND: Final = "\x1b[48;5;{}m"
_RESET: Final = "\x1b[0m"
_TICK: Final = 12
"""Characters between the times on the axis."""
_LEAST_CELLS: Final = 10
_DAY_SECONDS: Final = 86400
_MOST_LABELS: Final = 30
"""Of a picture; of more rows every second, third, … is labelled."""
_ROW_INCHES: Final = 0.16
_INSTALL: Final = "pip install matplotlib"


def lines(slots: SlotPrices, resource: str | None, terminal: Terminal, *, wide: bool) -> list[str]:
    """Return the map, nodes down and slots across, with its axis and its legend.

    Args:
        slots: The prices.
        resource: Whose prices; None: of the most expensive resource in each slot.
        terminal: Where it is shown; where there are more slots than columns, a cell is the most
            expensive of several slots.
        wide: Show all rows.

    Raises:
        UnansweredError: No node has a price for the resource.
    """
    rows = of_resource(slots, resource)
    if not rows:
        return ["no nodes"]
    shown = rows if wide else rows[:MOST_ROWS]
    labels = [label(row) for row, _ in shown]
    margin = max(len(text) for text in labels)
    cells = max(_LEAST_CELLS, terminal.width - margin - 2)
    each = -(-slots.slots // cells)
    wide_cell = max(1, min(4, cells // max(1, slots.slots)))
    drawn = [
        f"{text.ljust(margin)}  {_strip(_binned(prices, each), wide_cell, terminal)}"
        for text, (_, prices) in zip(labels, shown, strict=True)
    ]
    axis = " " * (margin + 2) + _axis(slots, each, wide_cell)
    return [
        _head(slots, resource, each),
        *drawn,
        axis,
        *more(len(rows) - len(shown)),
        "",
        *_legend(slots, resource, terminal),
    ]


def of_resource(slots: SlotPrices, resource: str | None) -> list[tuple[SlotRow, tuple[float, ...]]]:
    """Return the rows with their prices of one resource; None: of the most expensive in each slot.

    Raises:
        UnansweredError: No node has a price for the resource.
    """
    if resource is None:
        priced = [(row, row.prices.values()) for row in slots.rows if row.prices]
        return [(row, tuple(map(max, zip(*prices, strict=True)))) for row, prices in priced]
    if resource not in slots.scales:
        names = ", ".join(sorted(slots.scales))
        raise UnansweredError(f"no slot has a price for {resource}; resources with prices: {names}")
    return [(row, row.prices[resource]) for row in slots.rows if resource in row.prices]


def label(row: SlotRow) -> str:
    """Return the label of a row: its first node, and how many others have the same prices."""
    more = len(row.nodes) - 1
    return f"{row.nodes[0]} +{more}" if more else row.nodes[0]


def clock(at: float, *, dated: bool = False) -> str:
    """Return the local time of day; ``at`` is in seconds since the epoch."""
    local = datetime.fromtimestamp(at, UTC).astimezone()
    return f"{local:%m-%d %H:%M}" if dated else f"{local:%H:%M}"


def write_svg(slots: SlotPrices, resource: str | None, path: Path) -> None:
    """Draw a heat map for each resource into a file; the same prices give the same bytes.

    Raises:
        UnansweredError: There is nothing to draw, matplotlib is missing, or the file cannot be
            written.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 - slow to load, and optional
        from matplotlib.figure import Figure  # noqa: PLC0415 - as above
    except ImportError as error:
        raise UnansweredError(f"--svg needs matplotlib: {_INSTALL}") from error
    names = sorted(slots.scales) if resource is None else [resource]
    maps = {name: rows for name in names if (rows := of_resource(slots, name))}
    if not maps:
        raise UnansweredError("there are no nodes to draw: `shuntyard nodes` lists them")
    settings: Any = {"svg.hashsalt": "prices", "svg.fonttype": "none", "font.size": 8}
    height = sum(1.2 + _ROW_INCHES * min(len(rows), 4 * _MOST_LABELS) for rows in maps.values())
    with mpl.rc_context(settings):
        figure = Figure(figsize=(9.0, height), layout="constrained")
        axes = figure.subplots(len(maps), 1, squeeze=False)[:, 0]
        for axis, (name, rows) in zip(axes, maps.items(), strict=True):
            _draw(axis, name, rows, slots)
        try:
            figure.savefig(path, format="svg", metadata={"Date": None})
        except OSError as error:
            raise UnansweredError(f"--svg: {error}; name a file that you may write") from error


def _binned(prices: Sequence[float], each: int) -> list[float]:
    return [max(prices[i : i + each]) for i in range(0, len(prices), each)]


def _strip(prices: Sequence[float], width: int, terminal: Terminal) -> str:
    if terminal.colours:
        painted = (_BACKGROUND.format(_level(price, COLOURS)) + " " * width for price in prices)
        return "".join(painted) + _RESET
    levels = SHADES if terminal.blocks else PLAIN
    return "".join(str(_level(price, levels)) * width for price in prices)


def _level(price: float, levels: Sequence[int] | str) -> int | str:
    """Return the level of a price: the first of an idle node, the last of a full one."""
    last = len(levels) - 1
    if price <= 0:
        return levels[0]
    return levels[last] if price >= 1 else levels[min(last - 1, 1 + int(price * (last - 1)))]


def _head(slots: SlotPrices, resource: str | None, each: int) -> str:
    name = resource or "the most expensive resource"
    cell = "" if each == 1 else f", {each} slots a column"
    length = duration(slots.slot_seconds)
    return f"prices of {name} in {slots.slots} slots of {length}{cell}; share {number(slots.share)}"


def _axis(slots: SlotPrices, each: int, width: int) -> str:
    begins = slots.first * slots.slot_seconds
    a_character = slots.slot_seconds * each / width
    columns = -(-slots.slots // each) * width
    dated = slots.slots * slots.slot_seconds > _DAY_SECONDS
    ticks = range(0, max(1, columns - _TICK // 2), _TICK)
    return "".join(
        clock(begins + tick // width * width * a_character, dated=dated).ljust(_TICK)
        for tick in ticks
    ).rstrip()


def _legend(slots: SlotPrices, resource: str | None, terminal: Terminal) -> list[str]:
    levels: Sequence[float] = [0.0, *(i / 8 for i in range(1, 8)), 1.0]
    scale = f"0 {_strip(levels, 1, terminal)} 1: from nothing promised to all promised"
    scales = slots.scales if resource is None else {resource: slots.scales[resource]}
    ranges = [
        f"ln of the price of {name}: {number(range_.log_low)} to {number(range_.log_high)}"
        for name, range_ in sorted(scales.items())
    ]
    return [scale, *ranges]


def _draw(axes: Any, name: str, rows: list[Any], slots: SlotPrices) -> None:
    image = axes.imshow(
        [prices for _, prices in rows],
        aspect="auto",
        interpolation="nearest",
        cmap="inferno",
        vmin=0.0,
        vmax=1.0,
        extent=(0, slots.slots, len(rows), 0),
    )
    scale = slots.scales[name]
    bar = axes.figure.colorbar(image, ax=axes, ticks=[0.0, 0.5, 1.0])
    middle = (scale.log_low + scale.log_high) / 2
    bar.set_ticklabels([f"{log:.3g}" for log in (scale.log_low, middle, scale.log_high)])
    bar.set_label("ln price")
    step = max(1, -(-len(rows) // _MOST_LABELS))
    shown = range(0, len(rows), step)
    axes.set_yticks([i + 0.5 for i in shown], [label(rows[i][0]) for i in shown])
    apart = max(1, -(-slots.slots // 8))
    ticks = range(0, slots.slots, apart)
    times = [clock((slots.first + i) * slots.slot_seconds) for i in ticks]
    axes.set_xticks(list(ticks), times)
    axes.set_title(f"{name}, slots of {duration(slots.slot_seconds)}")
