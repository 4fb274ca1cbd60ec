"""Checkpoints that are directories, written by all ranks together, with a file of each rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import torch
from torch import distributed

from shuntyard_trainer import torch_ranks
from shuntyard_trainer.checkpoints import Checkpoints
from shuntyard_trainer.environment import Environment
from shuntyard_trainer.errors import UnloadableError
from shuntyard_trainer.step_files import StepFiles, remove
from shuntyard_trainer.torch_generators import process_state, restore_process

OWN: str = "rank-{}.pt"
"""Generators and parts of a rank."""


class RankFolders:
    """The directory ``step-…`` of each checkpoint, and in it ``rank-N.pt`` of each rank.

    A rank that is new keeps its generators and parts.

    Args:
        files: Where to save; None: nowhere.
        parts: With ``state_dict`` and ``load_state_dict``, kept for each rank.

    Attributes:
        group: How the ranks agree.
    """

    def __init__(self, files: StepFiles | None, parts: Mapping[str, Any]) -> None:
        self.group = torch_ranks.CpuGroup()
        self._files = files
        self._parts = parts
        self._random: Mapping[str, Any] | None = None

    def begin(self, step: int) -> Path | None:
        """Make the directory of a step, on all ranks, and write the file of this one into it."""
        if self._files is None:
            return None
        path = self._files.path(step)
        if rank() == 0:
            remove(path)
            path.mkdir()
        if torch_ranks.several():
            self.group.largest(0)  # so that the directory is there for every rank
        mine: dict[str, Any] = {name: part.state_dict() for name, part in self._parts.items()}
        random = process_state(all_devices=not torch_ranks.several())
        torch.save({"parts": mine, "random": random}, path / OWN.format(rank()))
        return path

    def written(self, path: Path) -> None:
        """Remove the oldest ones; ``path`` is complete on this rank."""
        if rank() == 0 and self._files is not None:
            self._files.prune(path)

    def load(self, path: Path, of_rank: int) -> None:
        """Load the parts of a rank; generators are kept for ``restore_generators``."""
        own = path / OWN.format(of_rank)
        if own.exists():
            mine = torch.load(own, map_location="cpu", weights_only=True)
            for name, part in self._parts.items():
                part.load_state_dict(mine["parts"][name])
            self._random = mine["random"]

    def restore_generators(self) -> None:
        """Restore the generators of this rank."""
        if self._random is not None:
            restore_process(self._random)


def rank() -> int:
    """Return the rank of this process; 0 if it trains alone."""
    return distributed.get_rank() if torch_ranks.several() else 0


def world_size() -> int:
    """Return the number of ranks; 1 if this process trains alone."""
    return distributed.get_world_size() if torch_ranks.several() else 1


def require_own(folder: Path) -> None:
    """Check that every rank's file is there.

    Raises:
        UnloadableError: One is missing.
    """
    for name in map(OWN.format, range(world_size())):
        if not (folder / name).exists():
            raise UnloadableError(f"{name} is missing")


def load_own(folder: Path, of_rank: int) -> None:
    """Load the file of a rank.

    Raises:
        Exception: What ``torch.load`` raises.
    """
    _load(folder / OWN.format(of_rank))


def _load(own: Path) -> None:
    torch.load(own, map_location="cpu", weights_only=True, mmap=True)


@dataclass(frozen=True)
class Library:
    """How a library saves and loads a directory, on every rank.

    Attributes:
        save: Writes into a directory that exists.
        load: Loads from it.
        inspect: Raises if a file is missing; on rank 0, at every save.
        verify: Loads its files as a test, on rank 0.
    """

    save: Callable[[Path], object]
    load: Callable[[Path], object]
    inspect: Callable[[Path], object]
    verify: Callable[[Path], object]


def library_checkpoints(
    library: Library,
    parts: Mapping[str, Any] | None,
    *,
    keep: int,
    environment: Environment | None,
    options: Mapping[str, Any],
) -> Checkpoints:
    """Return checkpoints that a library writes; first loads the last one, if it exists.

    Raises:
        SettingError: A variable or an option cannot be used.
    """
    here = environment or Environment.read()
    files = StepFiles(here.checkpoint_dir, "", keep) if here.checkpoint_dir else None
    folders = RankFolders(files, parts or {})

    def save(step: int) -> Path | None:
        path = folders.begin(step)
        if path is not None:
            library.save(path)
            folders.written(path)
        return path

    def verify(path: str) -> None:
        library.verify(Path(path))
        for own in Path(path).glob(OWN.format("*")):
            _load(own)

    def inspect(path: str) -> None:
        library.inspect(Path(path))
        require_own(Path(path))

    defaults: dict[str, Any] = {
        "verify": verify,
        "inspect": inspect,
        "restore": folders.restore_generators,
    }
    if torch_ranks.several():
        defaults.update(agree=folders.group.largest, every_rank_saves=True)
    checkpoints = Checkpoints.from_environment(save, environment=here, **{**defaults, **options})
    if checkpoints.resume is not None:
        path = Path(checkpoints.resume.path)
        library.load(path)
        folders.load(path, here.rank)
    return checkpoints
