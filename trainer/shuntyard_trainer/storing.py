"""From "save now" to a checkpoint that is complete, on the storage, and measured."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Callable, Union

from shuntyard_trainer.clock import Clock
from shuntyard_trainer.durable import make_durable, size_bytes
from shuntyard_trainer.records import Saved
from shuntyard_trainer.resume import is_address

Where = Union[str, "os.PathLike[str]", None]
"""What a save function returns: the file or directory, an address, or None if it does not say."""

Save = Callable[[int], Where]
"""Writes a checkpoint. It is given the number of completed steps."""


def secure(where: Where) -> str:
    """Write a checkpoint through to the storage and return its path.

    Raises:
        OSError: It is not there, or the storage reports a fault.
    """
    path = "" if where is None else os.fspath(where)
    if path and not is_address(path):
        make_durable(Path(path).resolve())
    return path


def describe(path: str, step: int, started_at: float, clock: Clock, below: Path | None) -> Saved:
    """Return the record of a checkpoint that is complete.

    ``below`` is the checkpoint directory: a path in it is told relative to it, because the volume
    may lie somewhere else in the next pod.

    Raises:
        OSError: The checkpoint is not there.
    """
    if not path or is_address(path):
        return Saved(step, path, 0, started_at, clock.now())
    there = Path(path).resolve()
    told = str(there)
    if below is not None and below.resolve() in there.parents:
        told = str(there.relative_to(below.resolve()))
    return Saved(step, told, size_bytes(there), started_at, clock.now())
