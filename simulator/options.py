"""Values of options with bounds, and the option that names the settings file."""

import argparse
import math
import os
from dataclasses import replace
from pathlib import Path

from pydantic import ConfigDict

from extender.core.parameters.combined import PUBLISHED, CoreParameters
from extender.settings.policy import PolicySettings, core_parameters
from shared import labels
from shared import settings as settings_files


def count(text: str) -> int:
    """Return a whole number of at least 1; raises ``ArgumentTypeError``."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number


def positive(text: str) -> float:
    """Return a number above 0; raises ``ArgumentTypeError``."""
    number = _number(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def share(text: str) -> float:
    """Return a number from 0 to 1; raises ``ArgumentTypeError``."""
    number = _number(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def add_window_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the size of a window."""
    parser.add_argument("--jobs", type=count, default=120, help="jobs per window; default: 120")
    parser.add_argument(
        "--from",
        type=float,
        dest="start",
        help="start of the window, in seconds of the trace; default: drawn",
    )
    parser.add_argument(
        "--window", type=positive, help="length of the window in seconds; jobs are drawn from it"
    )
    parser.add_argument(
        "--load",
        type=positive,
        default=1.2,
        help="offered load, which decides the number of machines; default: 1.2",
    )
    parser.add_argument("--nodes", type=count, help="number of machines, instead of --load")


class _SettingsFile(PolicySettings):
    """The extender's settings file; only settings that change decisions are read."""

    model_config = ConfigDict(extra="ignore")


def add_settings_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the option that names the file."""
    parser.add_argument(
        "--settings",
        type=Path,
        metavar="FILE",
        help="settings file of the extender; default: its defaults, and as published where the "
        "run is compared with papers",
    )


def read_parameters(
    file: Path | None, scheduler_name: str = labels.SCHEDULER_NAME, *, published: bool = False
) -> CoreParameters:
    """Return the parameters of a file and the environment; None: of the environment only.

    Without a file, ``published`` leaves out what the papers do not have (``combined.PUBLISHED``).

    Raises:
        SettingsError: The file or a value cannot be used.
    """
    params = core_parameters(settings_files.load(_SettingsFile, file, os.environ), scheduler_name)
    if not published or file is not None:
        return params
    return replace(
        params,
        job_size=PUBLISHED.job_size,
        weights=PUBLISHED.weights,
        waiting=replace(params.waiting, keeps_room=PUBLISHED.waiting.keeps_room),
    )
