"""The options of ``shuntyard what-if``: a manifest, or a job in a few words."""

import argparse
from typing import Final

FILE: Final = "-f/--file"
_SHORT: Final = ("workers", "cpu")
"""Without a manifest these must be said."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        *("-f", "--file"),
        metavar="FILE",
        help="manifest, YAML or JSON, as for kubectl apply; - for standard input",
    )
    short = parser.add_argument_group("without a manifest")
    short.add_argument("--name", default="what-if", help="name of the job (default: what-if)")
    short.add_argument("--workers", type=_count, metavar="N", help="worker pods")
    short.add_argument("--servers", type=_count, metavar="N", help="parameter servers beside them")
    short.add_argument("--cpu", metavar="AMOUNT", help="CPU of each pod, such as 2 or 500m")
    short.add_argument("--memory", metavar="AMOUNT", help="memory of each pod, such as 4Gi")
    short.add_argument("--gpu", type=_count, metavar="N", help="GPUs of each worker")
    short.add_argument(
        "--gpu-resource", default="nvidia.com/gpu", metavar="NAME", help="their name"
    )
    short.add_argument("--priority-class", metavar="NAME", help="PriorityClass of the pods")
    short.add_argument("--duration", metavar="TIME", help="how long it runs, such as 2h")
    short.add_argument("--max-wait", metavar="TIME", help="how long it may wait, such as 20m")
    short.add_argument("--min-available", type=_count, metavar="N", help="pods it needs at once")


def check(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> None:
    """End the process with 2 unless there is a manifest, or what stands for one."""
    given = [name for name in _SHORT if getattr(asked, name) is not None]
    if asked.file and given:
        parser.error(f"{FILE} says what the job is: --{given[0]} does not go with it")
    missing = [f"--{name}" for name in _SHORT if name not in given]
    if asked.file == "-" and asked.watch:
        parser.error("standard input can be read once: --watch needs a file")
    if not asked.file and missing:
        parser.error(f"expected {FILE}, or --workers and --cpu: {missing[0]} is missing")


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)
