"""Bands of the forecast, and what `converged` is worth, on curves of real runs."""

import argparse
from pathlib import Path
from typing import Final

from bench.calibration import corpus, measured, pages, predicting

ROOT: Final = Path(__file__).parents[2]
FACTORS: Final = ROOT / "shared/convergence/calibrated.py"
PAGE: Final = ROOT / "docs/calibration.md"
PICTURE: Final = ROOT / "docs/figures/calibration.svg"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "--write",
        action="store_true",
        help="write the factors into shared/convergence, the page and the picture into docs",
    )


def run(options: argparse.Namespace) -> int:
    """Print the figures; with ``--write`` write the factors, the page and the picture."""
    runs = corpus.read()
    figures = measured.measure(runs)
    print(pages.table(figures))
    if options.write:
        from bench.calibration import pictures  # noqa: PLC0415 - matplotlib is slow to import

        FACTORS.write_text(pages.factors(predicting.factors(runs)), encoding="utf-8")
        PAGE.write_text(pages.page(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")
        pictures.draw(figures, PICTURE)
    return 0
