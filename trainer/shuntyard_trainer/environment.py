"""Environment variables of a training pod."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shuntyard_trainer.errors import SettingError

CHECKPOINT_DIR = "SHUNTYARD_CHECKPOINT_DIR"
METRICS_FILE = "SHUNTYARD_METRICS_FILE"
POD_UID = "SHUNTYARD_POD_UID"
GENERATION = "SHUNTYARD_GENERATION"
RANK = ("SHUNTYARD_RANK", "RANK")
WORLD_SIZE = ("SHUNTYARD_WORLD_SIZE", "WORLD_SIZE")
LOCAL_RANK = ("SHUNTYARD_LOCAL_RANK", "LOCAL_RANK")


@dataclass(frozen=True)
class Environment:
    """Paths of files, and the rank of this process in the job.

    Attributes:
        checkpoint_dir: None: there will be no checkpoint requests.
        metrics_file: None: metrics are not read.
        pod_uid: Empty if unknown.
        generation: Number of the job's start, which grows; None if unknown.
        rank: Rank of this process in the job, from 0.
        world_size: Processes of the job.
        local_rank: Rank of this process in its pod, from 0.
    """

    checkpoint_dir: Path | None = None
    metrics_file: Path | None = None
    pod_uid: str = ""
    generation: int | None = None
    rank: int = 0
    world_size: int = 1
    local_rank: int = 0

    @classmethod
    def read(cls, variables: Mapping[str, str] | None = None) -> Environment:
        """Read the variables; an empty one counts as not set.

        ``SHUNTYARD_RANK`` etc. have precedence over the names that torchrun sets.

        Raises:
            SettingError: A number is invalid, or the rank is not below the world size.
        """
        environ = os.environ if variables is None else variables
        rank, world_size = _whole(environ, RANK, 0), _whole(environ, WORLD_SIZE, 1)
        if rank >= world_size:
            raise SettingError(f"rank {rank} is not below the world size {world_size}")
        return cls(
            checkpoint_dir=_path(environ, CHECKPOINT_DIR),
            metrics_file=_path(environ, METRICS_FILE),
            pod_uid=environ.get(POD_UID, ""),
            generation=_whole(environ, (GENERATION,), -1) if environ.get(GENERATION) else None,
            rank=rank,
            world_size=world_size,
            local_rank=_whole(environ, LOCAL_RANK, 0),
        )

    def options(self) -> dict[str, Any]:
        """Return the options of ``Checkpoints`` that it gives."""
        return {
            "directory": self.checkpoint_dir,
            "pod_uid": self.pod_uid,
            "generation": self.generation,
            "rank": self.rank,
            "world_size": self.world_size,
        }


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    value = environ.get(name, "")
    return Path(value) if value else None


def _whole(environ: Mapping[str, str], names: tuple[str, ...], default: int) -> int:
    for name in names:
        value = environ.get(name, "")
        if value:
            if not (value.isascii() and value.isdecimal()):
                raise SettingError(f"{name}={value!r} is not an integer of 0 or more")
            return int(value)
    return default
