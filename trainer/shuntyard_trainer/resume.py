"""The resume hint: the last complete checkpoint that a directory names."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from shuntyard_trainer import records
from shuntyard_trainer.mailbox import read_record
from shuntyard_trainer.records import Saved

log = logging.getLogger(__name__)


def last_saved(directory: Path | None) -> Saved | None:
    """Return the last complete checkpoint, its path ready to be opened; None: begin anew.

    A checkpoint that is named but not there any more is none, and that is logged: somebody has
    emptied the directory in order to begin anew.
    """
    if directory is None:
        return None
    file = directory / records.FOLDER / records.SAVED
    record = read_record(file)
    if record is None:
        return None
    try:
        saved = records.saved_from(record)
    except ValueError as error:
        log.warning("%s is ignored: %s", file, error)
        return None
    if not saved.path or is_address(saved.path):
        return saved
    path = directory / saved.path
    if not path.exists():
        log.warning("%s names %s, which is not there: training begins anew", file, path)
        return None
    return replace(saved, path=str(path))


def is_address(path: str) -> bool:
    """Return whether a path is no file but an address such as ``s3://bucket/step-7``."""
    return "://" in path
