"""What ``shuntyard prices`` shows: the price of each resource on each node."""

from typing import Final

from cli.amounts import number
from cli.table import columns
from shared.pricing import NodePrices, PricesResponse

NOTHING: Final = "-"
_FIRST: Final = ("cpu", "memory")
_RARE: Final = frozenset({"pods", "ephemeral-storage"})
"""Shown with ``-o wide`` only."""


def nodes(answer: PricesResponse, *, wide: bool) -> list[str]:
    """Return a line for each node."""
    if not answer.nodes:
        return ["there is no node"]
    resources = _resources(answer, wide=wide)
    header = ["NODE", *(name.upper() for name in resources), "DEAREST", "TIMES-IDLE"]
    rows = [_row(node, resources) for node in answer.nodes]
    lines = columns(header, rows, right=" ".join(set(header) - {"NODE", "DEAREST"}))
    if wide:
        lines = [f"0 idle, 1 full: {number(answer.kappa)} times the price", *lines]
    return lines


def _resources(answer: PricesResponse, *, wide: bool) -> list[str]:
    found = {name for node in answer.nodes for name in node.prices}
    shown = found if wide else found - _RARE
    return sorted(shown, key=lambda name: (name not in _FIRST, name))


def _row(node: NodePrices, resources: list[str]) -> list[str]:
    prices = [node.prices.get(name) for name in resources]
    cells = [NOTHING if price is None else f"{price:.3f}" for price in prices]
    return [node.name, *cells, node.dearest or NOTHING, number(node.times_idle)]
