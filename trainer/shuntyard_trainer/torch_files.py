"""Loads a file of torch as a test."""

from __future__ import annotations

from pathlib import Path

import torch


def load_file(path: str, *, weights_only: bool | None) -> None:
    """Unpickle a file; its tensors are mapped, so this takes no memory for them.

    A directory of a sharded checkpoint is left to the check of its files.

    Raises:
        Exception: What ``torch.load`` raises.
    """
    if Path(path).is_file():
        torch.load(path, map_location="cpu", weights_only=weights_only, mmap=True)
