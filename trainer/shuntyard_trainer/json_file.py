"""One JSON object in one file, which a reader sees whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shuntyard_trainer.durable import fsync, fsync_descriptor

MOST_BYTES = 64 * 1024
LEFTOVERS = ".*.trainer-tmp"
"""Temporary files of ours; the agent's have another ending."""


def write(path: Path, record: Mapping[str, Any]) -> None:
    """Replace the file at once: temporary file in the same directory, fsync, rename, fsync.

    Raises:
        OSError: It could not be written; the file is as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.trainer-tmp")
    data = (json.dumps(record) + "\n").encode()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o664)
    try:
        _write_all(descriptor, data)
        fsync_descriptor(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)
    fsync(path.parent)


def parse(data: bytes) -> Mapping[str, Any]:
    """Return the one object that the text of a file is.

    Raises:
        ValueError: It is no JSON object, nested too deep, or larger than 64 KiB.
    """
    if len(data) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES} bytes")
    try:
        record = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - a fault of the text
    return record


def read(path: Path) -> Mapping[str, Any]:
    """Return the object in the file.

    Raises:
        FileNotFoundError: There is none.
        OSError: It cannot be read.
        ValueError: It cannot be parsed.
    """
    with path.open("rb") as file:
        return parse(file.read(MOST_BYTES + 1))


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
