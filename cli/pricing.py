"""The options of ``shuntyard prices``."""

import argparse
from pathlib import Path


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--slots", action="store_true", help="the time slots to come, as a heat map"
    )
    parser.add_argument(
        "--svg", type=Path, metavar="FILE", help="write that heat map as a picture (SVG)"
    )
    parser.add_argument(
        "--resource",
        metavar="NAME",
        help="of this resource; else of the dearest in each slot, and in a picture of each",
    )


def check(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> None:
    """End the process with 2 where options do not go together."""
    if asked.svg and asked.output == "json":
        parser.error("--svg writes a picture, -o json does not go with it")
    if asked.resource and not asked.slots and not asked.svg:
        parser.error("--resource is for --slots and --svg")
