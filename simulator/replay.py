"""``shuntyard-sim replay --log FILE``: the live extender's decisions, decided again.

The same program as ``shuntyard-extender --replay``, for whoever has a log and no extender.
"""

import argparse
import sys
from pathlib import Path

from extender.app import replay
from extender.store.errors import RecordingError
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
    """Replay; return 0 only if something was decided, and all of it as the log says."""
    try:
        name = replay.scheduler_name(options.log) or labels.SCHEDULER_NAME
        params = read_parameters(options.settings, name)
    except OSError as error:
        return _refused(f"{options.log}: {error.strerror}")
    except (SettingsError, RecordingError) as error:
        return _refused(str(error))
    return replay.run(options.log, params)


def _refused(why: str) -> int:
    print(f"shuntyard-sim replay: {why}", file=sys.stderr)
    return 2
