"""Checkpoints for sharded PyTorch models (FSDP2, tensor parallel): torch.distributed.checkpoint.

Source:
    https://docs.pytorch.org/docs/stable/distributed.checkpoint.html: ``save``, ``async_save``,
    ``load``, ``get_state_dict``, ``set_state_dict``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch.distributed import checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from shuntyard_trainer import torch_ranks, torch_shards
from shuntyard_trainer.checkpoints import Checkpoints
from shuntyard_trainer.environment import Environment
from shuntyard_trainer.saving import Pending
from shuntyard_trainer.step_files import StepFiles
from shuntyard_trainer.torch_folders import RankFolders, load_own, rank, require_own, world_size

_SAVED = {"model", "optimizer"}
"""Of each checkpoint; part of the names in it."""


def dcp_checkpoints(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    parts: Mapping[str, Any] | None = None,
    *,
    asynchronous: bool = False,
    keep: int = 2,
    environment: Environment | None = None,
    **options: Any,
) -> Checkpoints:
    """Return checkpoints of a sharded model; first loads the last one, if it exists.

    Every rank writes its shards into the directory ``step-…``, and its generators and parts into
    ``rank-N.pt`` there. Call it on every rank, after ``fully_shard``. A run may resume with
    another number of ranks; ranks that are new keep their generators and parts.

    Args:
        model: Sharded or not.
        optimizer: Of the model's parameters.
        parts: With ``state_dict`` and ``load_state_dict``, kept for each rank: a loader, a
            scheduler.
        asynchronous: Write in the background, with ``async_save``.
        keep: Number of checkpoints that are kept; at least 2.
        environment: Default: the process's.
        options: Options of ``Checkpoints``.

    Raises:
        SettingError: A variable or an option cannot be used.
    """
    here = environment or Environment.read()
    files = StepFiles(here.checkpoint_dir, "", keep) if here.checkpoint_dir else None
    folders = RankFolders(files, parts or {})
    states = ShardedStates(model, optimizer, folders, asynchronous=asynchronous)
    defaults: dict[str, Any] = {
        "verify": verify,
        "inspect": inspect,
        "restore": folders.restore_generators,
    }
    if torch_ranks.several():
        together = {"every_rank_saves": True, "every_rank_verifies": True}
        defaults.update(agree=folders.group.largest, **together)
    checkpoints = Checkpoints.from_environment(
        states.save, environment=here, **{**defaults, **options}
    )
    if checkpoints.resume is not None:
        states.load(Path(checkpoints.resume.path), here.rank)
    return checkpoints


class ShardedStates:
    """What the ranks save together, and each by itself.

    Args:
        folders: Where to save, and what each rank saves by itself.
        asynchronous: Write in the background.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        folders: RankFolders,
        *,
        asynchronous: bool,
    ) -> None:
        self._writers = torch_ranks.CpuGroup()  # it works in the background, beside the other
        self._model = model
        self._optimizer = optimizer
        self._folders = folders
        self._asynchronous = asynchronous

    def save(self, step: int) -> Path | Pending | None:
        """Write the shards of this rank, or begin to."""
        path = self._folders.begin(step)
        if path is None:
            return None
        model, optimizer = get_state_dict(self._model, self._optimizer)
        shared = {"model": model, "optimizer": optimizer}
        if self._asynchronous:
            future = dcp.async_save(shared, checkpoint_id=path, process_group=self._group())
            return Pending(path, lambda: self._finish(future, path), future.done)
        dcp.save(shared, checkpoint_id=path, process_group=self._group())
        self._folders.written(path)
        return path

    def load(self, path: Path, rank: int) -> None:
        """Load into model, optimizer and parts; generators are kept until training begins."""
        model, optimizer = get_state_dict(self._model, self._optimizer)
        shared = {"model": model, "optimizer": optimizer}
        dcp.load(shared, checkpoint_id=path, process_group=self._group())
        set_state_dict(
            self._model,
            self._optimizer,
            model_state_dict=shared["model"],
            optim_state_dict=shared["optimizer"],
        )
        self._folders.load(path, rank)

    def _group(self) -> Any:
        return self._writers.group if torch_ranks.several() else None

    def _finish(self, future: Any, path: Path) -> None:
        future.result()
        self._folders.written(path)


def inspect(path: str) -> None:
    """Check that model and optimizer are there, with all shards and each rank's file.

    Raises:
        UnloadableError: Something is missing.
    """
    torch_shards.require_states(Path(path), _SAVED)
    require_own(Path(path))


def verify(path: str) -> None:
    """Load this rank's part of the shards, and its own file; the ranks together load everything.

    Raises:
        Exception: What ``torch.load`` raises.
    """
    torch_shards.load_part(Path(path), rank(), world_size())
    load_own(Path(path), rank())
