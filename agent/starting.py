"""The first of the agent's two processes: reads and checks the settings, and starts the second."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agent import parameters
from agent.settings import AgentSettings
from shared import settings as settings_files
from shared.errors import SettingsError


def start(arguments: Sequence[str] | None, variable: str) -> int:
    """Check the settings, and run the agent with them; return the exit code: 2 for wrong settings.

    Args:
        arguments: None: those of the command line; this process is replaced.
        variable: Where the process that replaces this one finds the checked settings.
    """
    options = _options(arguments)
    try:
        settings = settings_files.load(AgentSettings, options.settings, os.environ)
    except SettingsError as error:
        print(f"shuntyard-agent: {error}", file=sys.stderr)  # noqa: T201 - there is no log yet
        return 2
    if options.print_settings:
        print(settings_files.dump(settings), end="")  # noqa: T201 - the requested output
        return 0
    checked = parameters.encoded(settings.parameters())
    if arguments is None:
        again = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, again, {**os.environ, variable: checked})  # noqa: S606 - ourselves
    from agent import running  # noqa: PLC0415 - the process that is replaced does not need it

    return running.run(checked)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    text = (
        "Reads the training progress and resource use of the pods of its node, and reports both to "
        "shuntyard-extender. Without options it runs until it is stopped."
    )
    parser = argparse.ArgumentParser(prog="shuntyard-agent", description=text)
    parser.add_argument("--settings", type=Path, help="settings file (YAML)")
    parser.add_argument(
        "--print-settings", action="store_true", help="print the effective settings and exit"
    )
    return parser.parse_args(arguments)
