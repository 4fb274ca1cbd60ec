"""Checkpoints for loops with a DeepSpeed engine: its own ``save_checkpoint``.

Source:
    https://deepspeed.readthedocs.io/en/latest/model-checkpointing.html: ``save_checkpoint``,
    ``load_checkpoint``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from deepspeed import DeepSpeedEngine
from torch import distributed

from shuntyard_trainer.checkpoints import Checkpoints
from shuntyard_trainer.environment import Environment
from shuntyard_trainer.errors import UnloadableError
from shuntyard_trainer.torch_files import load_file
from shuntyard_trainer.torch_folders import Library, library_checkpoints


def deepspeed_checkpoints(
    engine: DeepSpeedEngine,
    parts: Mapping[str, Any] | None = None,
    *,
    keep: int = 2,
    environment: Environment | None = None,
    **options: Any,
) -> Checkpoints:
    """Return checkpoints of an engine; first loads the last one, if it exists.

    Every rank calls it, after ``deepspeed.initialize``: with ZeRO each rank writes its part. A step
    is what you count; with gradient accumulation count optimizer steps (``engine.global_steps``),
    because gradients between two of them are not saved. Generators of every rank are saved too.

    Args:
        engine: With model, optimizer and scheduler.
        parts: With ``state_dict`` and ``load_state_dict``, kept for each rank: a loader.
        keep: Number of checkpoints that are kept; at least 2.
        environment: Default: the process's.
        options: Options of ``Checkpoints``.

    Raises:
        SettingError: A variable or an option cannot be used.
        UnloadableError: The engine does not load the last checkpoint.
    """
    library = Library(
        save=lambda path: engine.save_checkpoint(
            str(path.parent), tag=path.name, save_latest=False
        ),
        load=lambda path: _load(engine, path),
        inspect=partial(_inspect, engine),
        verify=_verify,
    )
    return library_checkpoints(library, parts, keep=keep, environment=environment, options=options)


def _load(engine: DeepSpeedEngine, path: Path) -> None:
    found, _ = engine.load_checkpoint(str(path.parent), tag=path.name)
    if found is None:
        raise UnloadableError(f"{path}: the engine finds no checkpoint in it")


def _inspect(engine: DeepSpeedEngine, folder: Path) -> None:
    """With ZeRO each rank of the engine's group has a part of the optimizer."""
    if not any(folder.glob("*model_states.pt")):
        raise UnloadableError(f"{folder}: the engine wrote no *model_states.pt")
    group = getattr(engine.optimizer, "dp_process_group", None)
    if not engine.zero_optimization() or group is None:
        return
    for rank in range(distributed.get_world_size(group)):
        pattern = f"*zero_pp_rank_{rank}_*optim_states.pt"
        if not any(folder.glob(pattern)):
            raise UnloadableError(f"{folder}: there is no {pattern}, the optimizer of rank {rank}")


def _verify(folder: Path) -> None:
    for file in sorted(folder.glob("*_states.pt")):
        load_file(str(file), weights_only=False)  # as the engine does
