"""Checkpoints for a plain PyTorch loop: saves and loads stateful objects.

Source:
    https://docs.pytorch.org/tutorials/recipes/recipes/saving_and_loading_a_general_checkpoint.html
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import torch

from shuntyard_trainer import torch_ranks
from shuntyard_trainer.checkpoints import Checkpoints
from shuntyard_trainer.environment import Environment
from shuntyard_trainer.step_files import StepFiles

_RANDOM = "shuntyard_random_state"


class Stateful(Protocol):
    """A model, an optimizer, a scheduler, a scaler, a sampler …."""

    def state_dict(self) -> Mapping[str, Any]:
        """Return the state."""
        ...

    def load_state_dict(self, state: Any, /) -> Any:
        """Load a state."""
        ...


def torch_checkpoints(
    parts: Mapping[str, Stateful],
    *,
    keep: int = 2,
    environment: Environment | None = None,
    **options: Any,
) -> Checkpoints:
    """Return checkpoints of these parts; first loads the last one into them, if it exists.

    Rank 0 saves ``step-….pt`` in the checkpoint directory: replicated models (DDP) only. A model
    that is sharded over ranks needs ``Checkpoints`` with ``every_rank_saves``. The state of
    torch's random numbers is saved if one process trains.

    Args:
        parts: By a name that is the same in every run.
        keep: Number of checkpoints that are kept; at least 2.
        environment: Default: the process's.
        options: Options of ``Checkpoints``.

    Raises:
        SettingError: A variable or an option cannot be used.
        KeyError: The last checkpoint has no state for one of the parts.
    """
    here = environment or Environment.read()
    if torch_ranks.several():
        options.setdefault("agree", torch_ranks.agree())
    files = StepFiles(here.checkpoint_dir, ".pt", keep) if here.checkpoint_dir else None
    alone = here.world_size == 1

    def save(step: int) -> Path | None:
        if files is None:
            return None
        states: dict[str, Any] = {name: part.state_dict() for name, part in parts.items()}
        states[_RANDOM] = _random_state()
        torch.save(states, files.unfinished(step))
        return files.finish(step)

    checkpoints = Checkpoints.from_environment(save, environment=here, **options)
    if checkpoints.resume is not None:
        states = torch.load(checkpoints.resume.path, map_location="cpu", weights_only=True)
        for name, part in parts.items():
            part.load_state_dict(states[name])
        if alone:
            _set_random_state(states[_RANDOM])
    return checkpoints


def _random_state() -> dict[str, Any]:
    return {"cpu": torch.get_rng_state(), "cuda": torch.cuda.get_rng_state_all()}


def _set_random_state(state: Mapping[str, Any]) -> None:
    torch.set_rng_state(state["cpu"])
    if len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
