"""``shuntyard-sim replay --log FILE``: replays the decisions of a live extender.

The same program as ``shuntyard-extender --replay``, for use without an extender.
"""

import argparse
import sys
from pathlib import Path

from extender.app import replay
from extender.store.recording import RecordingError
from shared import labels
from shared.errors import SettingsError
from simulator.options import add_settings_argument, read_parameters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument(
        "--log", type=Path, required=True, metavar="FILE", help="a segment, or the log's directory"
    )
    add_settings_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Replay; return 0 only if there were decisions and all match the log."""
    try:
        name = replay.scheduler_name(options.log) or labels.SCHEDULER_NAME
        params = read_parameters(options.settings, name)
    except OSError as error:
        return _fail(f"{options.log}: {error.strerror}")
    except (SettingsError, RecordingError) as error:
        return _fail(str(error))
    return replay.run(options.log, params)


def _fail(why: str) -> int:
    print(f"shuntyard-sim replay: {why}", file=sys.stderr)
    return 2
