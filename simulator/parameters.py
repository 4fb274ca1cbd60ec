"""The policies' parameters out of the extender's own settings file."""

import argparse
import os
from pathlib import Path

from pydantic import ConfigDict

from extender.engine.parameters import EngineParameters
from extender.settings.policy import PolicySettings, engine_parameters
from shared import labels
from shared import settings as settings_files


class _SettingsFile(PolicySettings):
    """The extender's settings file, of which only what changes a decision is read."""

    model_config = ConfigDict(extra="ignore")


def add_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the option that names the file."""
    parser.add_argument(
        "--settings", type=Path, metavar="FILE", help="the extender's, if it was not the defaults"
    )


def read(file: Path | None, scheduler_name: str = labels.SCHEDULER_NAME) -> EngineParameters:
    """Return the parameters of a file and the environment; None: of the environment alone.

    Raises:
        SettingsError: The file or a value cannot be used.
    """
    return engine_parameters(settings_files.load(_SettingsFile, file, os.environ), scheduler_name)
