"""The texts of the calibration: the factors as code, the figures as a table, the page."""

from typing import Final

from bench.calibration.measured import Calls, Coverage, Figures
from shared.convergence.bands import Bands

_FACTORS: Final = '''"""Factors of the bands, made by ``python -m bench calibration --write``."""

from typing import Final

from shared.convergence.bands import Bands, GainFactor, TimeFactor

CALIBRATED: Final = Bands(
    time=(
{time}
    ),
    gain=(
{gain}
    ),
)
'''
_BEGIN: Final = (
    "<!-- Made by `python -m bench calibration --write`: the table and the picture. -->\n"
)
_END: Final = "<!-- end of the table -->"
_HEAD: Final = "| what | curves | projects | result |\n|---|--:|--:|---|"


def factors(bands: Bands) -> str:
    """Return the module with the factors."""
    time = "\n".join(f"        TimeFactor({f.below}, {f.factor})," for f in bands.time)
    gain = "\n".join(f"        GainFactor({f.below}, {f.low}, {f.high})," for f in bands.gain)
    return _FACTORS.format(time=time, gain=gain)


def table(figures: Figures) -> str:
    """Return the figures as a table."""
    rows = [
        _coverage("time left", figures.time, "of the true time left"),
        _coverage("further improvement", figures.gain, "of the whole improvement"),
        *(_calls(f"`converged`, {name}", calls) for name, calls in figures.calls.items()),
    ]
    return "\n".join((_HEAD, *rows))


def page(text: str, figures: Figures) -> str:
    """Return the text of a page with a new table between its two marks."""
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError("the page has no two marks around its table")
    return f"{before}{begin}\n{table(figures)}\n\n{end}{after}"


def _coverage(name: str, found: Coverage, scale: str) -> str:
    return (
        f"| band of the {name}, for two thirds | {found.curves} | {found.projects} | holds "
        f"{found.holds:.0%} of {found.predictions} predictions; median width {found.width:.0%} "
        f"{scale}; {found.bands:.0%} of the curves have one after a fifth of the run |"
    )


def _calls(name: str, found: Calls) -> str:
    return (
        f"| {name} | {found.curves} | {found.projects} | {found.recognised:.0%} of "
        f"{found.plateaued} plateaued curves recognised before their end, "
        f"{found.recognised_by_half:.0%} of the {found.by_half} that plateaued by their half; "
        f"{found.false_early:.1%} called prematurely before half of the run, "
        f"{found.premature:.1%} at any time |"
    )
