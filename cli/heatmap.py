"""The prices of the time slots to come, as a heat map of text: nodes down, slots across."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from cli.amounts import duration, number
from cli.errors import UnansweredError
from cli.screen import Screen
from shared.pricing import SlotPrices, SlotRow

MOST_ROWS: Final = 40
"""Rows that are shown without ``-o wide``."""
COLOURS: Final = (17, 18, 19, 25, 31, 71, 142, 178, 208, 196)
"""From idle to full, of the 256 that terminals have."""
SHADES: Final = "·░▒▓█"
PLAIN: Final = ".:+%#"
"""The same without colours, and where the terminal's encoding has no blocks."""
_BACKGROUND: Final = "\x1b[48;5;{}m"
_RESET: Final = "\x1b[0m"
_TICK: Final = 12
"""Characters from one time below the map to the next."""
_LEAST_CELLS: Final = 10
_DAY_SECONDS: Final = 86400


def lines(slots: SlotPrices, resource: str | None, screen: Screen, *, wide: bool) -> list[str]:
    """Return the map and what one must know to read it.

    Args:
        slots: The prices.
        resource: Of which; None: of the dearest in each slot.
        screen: Where it is shown; more slots than it is wide are shown several to a cell, the
            dearest of them.
        wide: All rows.

    Raises:
        UnansweredError: No node has a price for the resource.
    """
    rows = of_resource(slots, resource)
    if not rows:
        return ["there is no node"]
    shown = rows if wide else rows[:MOST_ROWS]
    labels = [label(row) for row, _ in shown]
    margin = max(len(text) for text in labels)
    cells = max(_LEAST_CELLS, screen.width - margin - 2)
    each = -(-slots.slots // cells)
    wide_cell = max(1, min(4, cells // max(1, slots.slots)))
    drawn = [
        f"{text.ljust(margin)}  {_strip(_binned(prices, each), wide_cell, screen)}"
        for text, (_, prices) in zip(labels, shown, strict=True)
    ]
    left = len(rows) - len(shown)
    more = [f"… and {left} more, see -o wide"] if left else []
    axis = " " * (margin + 2) + _axis(slots, each, wide_cell)
    return [
        _head(slots, resource, each),
        *drawn,
        axis,
        *more,
        "",
        *_legend(slots, resource, screen),
    ]


def of_resource(slots: SlotPrices, resource: str | None) -> list[tuple[SlotRow, tuple[float, ...]]]:
    """Return the rows with their prices of one resource, or of the dearest in each slot.

    Raises:
        UnansweredError: No node has a price for the resource.
    """
    if resource is None:
        kept = [(row, list(row.prices.values())) for row in slots.rows if row.prices]
        return [(row, tuple(max(at) for at in zip(*all_, strict=True))) for row, all_ in kept]
    if resource not in slots.scales:
        known = ", ".join(sorted(slots.scales))
        raise UnansweredError(f"no slot has a price for {resource}: there are {known}")
    return [(row, row.prices[resource]) for row in slots.rows if resource in row.prices]


def label(row: SlotRow) -> str:
    """Return the name of a row: its first node, and how many more have the same prices."""
    more = len(row.nodes) - 1
    return f"{row.nodes[0]} +{more}" if more else row.nodes[0]


def clock(at: float, *, dated: bool = False) -> str:
    """Return a time of the day here; ``at`` is in seconds since the epoch."""
    local = datetime.fromtimestamp(at, UTC).astimezone()
    return f"{local:%m-%d %H:%M}" if dated else f"{local:%H:%M}"


def _binned(prices: Sequence[float], each: int) -> list[float]:
    return [max(prices[i : i + each]) for i in range(0, len(prices), each)]


def _strip(prices: Sequence[float], width: int, screen: Screen) -> str:
    if screen.colours:
        painted = (_BACKGROUND.format(_level(price, COLOURS)) + " " * width for price in prices)
        return "".join(painted) + _RESET
    levels = SHADES if screen.blocks else PLAIN
    return "".join(str(_level(price, levels)) * width for price in prices)


def _level(price: float, levels: Sequence[int] | str) -> int | str:
    """Return the level of a price: the first for nothing at all, the last for what is full."""
    last = len(levels) - 1
    if price <= 0:
        return levels[0]
    return levels[last] if price >= 1 else levels[min(last - 1, 1 + int(price * (last - 1)))]


def _head(slots: SlotPrices, resource: str | None, each: int) -> str:
    of = resource or "the dearest resource"
    cell = "" if each == 1 else f", {each} slots a column"
    length = duration(slots.slot_seconds)
    return f"prices of {of} in {slots.slots} slots of {length}{cell}; share {number(slots.share)}"


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


def _legend(slots: SlotPrices, resource: str | None, screen: Screen) -> list[str]:
    levels: Sequence[float] = [0.0, *(i / 8 for i in range(1, 8)), 1.0]
    scale = f"0 {_strip(levels, 1, screen)} 1: nothing promised to all promised"
    scales = slots.scales if resource is None else {resource: slots.scales[resource]}
    told = [
        f"ln of the price of {name}: {number(one.log_low)} to {number(one.log_high)}"
        for name, one in sorted(scales.items())
    ]
    return [scale, *told]
