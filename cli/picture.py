"""The prices of the time slots to come, as a picture: an SVG with a heat map for each resource."""

from pathlib import Path
from typing import Any, Final

from cli import heatmap
from cli.amounts import duration
from cli.errors import UnansweredError
from shared.pricing import SlotPrices

EXTRA: Final = "pip install matplotlib"
_MOST_LABELS: Final = 30
_ROW_INCHES: Final = 0.16


def write(slots: SlotPrices, resource: str | None, path: Path) -> None:
    """Draw the heat maps into a file; the same prices give the same bytes.

    Raises:
        UnansweredError: There is nothing to draw, it cannot be drawn here, or not be written.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 - nobody else waits for it, and few have it
        from matplotlib.figure import Figure  # noqa: PLC0415 - as above
    except ImportError as error:
        raise UnansweredError(f"--svg needs matplotlib: {EXTRA}") from error
    names = sorted(slots.scales) if resource is None else [resource]
    found = {name: heatmap.of_resource(slots, name) for name in names}
    maps = {name: rows for name, rows in found.items() if rows}
    if not maps:
        raise UnansweredError("there is no node, and nothing to draw")
    settings: Any = {"svg.hashsalt": "prices", "svg.fonttype": "none", "font.size": 8}
    height = sum(1.2 + _ROW_INCHES * min(len(rows), 4 * _MOST_LABELS) for rows in maps.values())
    with mpl.rc_context(settings):
        figure = Figure(figsize=(9.0, height), layout="constrained")
        axes = figure.subplots(len(maps), 1, squeeze=False)[:, 0]
        for one, (name, rows) in zip(axes, maps.items(), strict=True):
            _map(one, name, rows, slots)
        try:
            figure.savefig(path, format="svg", metadata={"Date": None})
        except OSError as error:
            raise UnansweredError(f"--svg: {error}") from error


def _map(axes: Any, name: str, rows: list[Any], slots: SlotPrices) -> None:
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
    axes.set_yticks([i + 0.5 for i in shown], [heatmap.label(rows[i][0]) for i in shown])
    apart = max(1, -(-slots.slots // 8))
    ticks = range(0, slots.slots, apart)
    times = [heatmap.clock((slots.first + i) * slots.slot_seconds) for i in ticks]
    axes.set_xticks(list(ticks), times)
    axes.set_title(f"{name}, slots of {duration(slots.slot_seconds)}")
