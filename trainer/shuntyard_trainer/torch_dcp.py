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
from torch import distributed
from torch.distributed import checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from shuntyard_trainer import torch_ranks
from shuntyard_trainer.checkpoints import Checkpoints
from shuntyard_trainer.environment import Environment
from shuntyard_trainer.errors import UnloadableError
from shuntyard_trainer.saving import Pending
from shuntyard_trainer.step_files import StepFiles, remove
from shuntyard_trainer.torch_generators import process_state, restore_process

_METADATA = ".metadata"
_RANK = "rank-{}.pt"


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
    states = ShardedStates(model, optimizer, parts or {}, files, asynchronous=asynchronous)
    defaults: dict[str, Any] = {"verify": verify, "restore": states.restore_generators}
    if torch_ranks.several():
        defaults.update(agree=states.group.largest, every_rank_saves=True)
    checkpoints = Checkpoints.from_environment(
        states.save, environment=here, **{**defaults, **options}
    )
    if checkpoints.resume is not None:
        states.load(Path(checkpoints.resume.path), here.rank)
    return checkpoints


class ShardedStates:
    """What the ranks save together, and each by itself.

    Args:
        files: Where to save; None: nowhere.

    Attributes:
        group: How the ranks agree.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        parts: Mapping[str, Any],
        files: StepFiles | None,
        *,
        asynchronous: bool,
    ) -> None:
        self.group = torch_ranks.CpuGroup()
        self._writers = torch_ranks.CpuGroup()  # it works in the background, beside the other
        self._model = model
        self._optimizer = optimizer
        self._parts = parts
        self._files = files
        self._asynchronous = asynchronous
        self._random: Mapping[str, Any] | None = None

    def save(self, step: int) -> Path | Pending | None:
        """Write the shards of this rank, or begin to."""
        if self._files is None:
            return None
        path = self._files.path(step)
        rank = distributed.get_rank() if torch_ranks.several() else 0
        if rank == 0:
            remove(path)
            path.mkdir()
        self._wait_for_all()
        mine: dict[str, Any] = {name: part.state_dict() for name, part in self._parts.items()}
        random = process_state(all_devices=not torch_ranks.several())
        torch.save({"parts": mine, "random": random}, path / _RANK.format(rank))
        model, optimizer = get_state_dict(self._model, self._optimizer)
        shared = {"model": model, "optimizer": optimizer}
        if self._asynchronous:
            future = dcp.async_save(shared, checkpoint_id=path, process_group=self._group())
            return Pending(path, lambda: self._written(future.result(), path, rank), future.done)
        dcp.save(shared, checkpoint_id=path, process_group=self._group())
        self._written(None, path, rank)
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
        own = path / _RANK.format(rank)
        if own.exists():
            mine = torch.load(own, map_location="cpu", weights_only=True)
            for name, part in self._parts.items():
                part.load_state_dict(mine["parts"][name])
            self._random = mine["random"]

    def restore_generators(self) -> None:
        """Restore the generators of this rank."""
        if self._random is not None:
            restore_process(self._random)

    def _group(self) -> Any:
        return self._writers.group if torch_ranks.several() else None

    def _wait_for_all(self) -> None:
        if torch_ranks.several():
            self.group.largest(0)

    def _written(self, _: object, path: Path, rank: int) -> None:
        if rank == 0 and self._files is not None:
            self._files.prune(path)


def verify(path: str) -> None:
    """Read the metadata, and check that the shards that it names are there; load each rank's part.

    Raises:
        UnloadableError: A shard is missing or shorter than the metadata says.
    """
    folder = Path(path)
    metadata = dcp.FileSystemReader(path).read_metadata()
    ends: dict[str, int] = {}
    for info in (metadata.storage_data or {}).values():
        name = info.relative_path
        ends[name] = max(ends.get(name, 0), info.offset + info.length)
    for name, end in ends.items():
        size = (folder / name).stat().st_size
        if size < end:
            raise UnloadableError(f"{name} has {size} bytes, and {_METADATA} says {end}")
    for own in folder.glob(_RANK.format("*")):
        torch.load(own, map_location="cpu", weights_only=True, mmap=True)
