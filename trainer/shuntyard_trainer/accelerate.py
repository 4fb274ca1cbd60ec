"""Checkpoints for loops with Hugging Face Accelerate: its own ``save_state`` and ``load_state``.

Source:
    https://huggingface.co/docs/accelerate/usage_guides/checkpoint: ``save_state``, ``load_state``,
    ``DataLoaderConfiguration(use_stateful_dataloader=True, use_seedable_sampler=True)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from accelerate.utils import DistributedType, load

from shuntyard_trainer.checkpoints import Checkpoints
from shuntyard_trainer.environment import Environment
from shuntyard_trainer.errors import SettingError, UnloadableError
from shuntyard_trainer.torch_folders import Library, library_checkpoints
from shuntyard_trainer.torch_shards import inspect_below

_EPOCHS = "shuntyard_epochs"
_ENDED = "_iterator_finished"
"""Key of the state of a ``StatefulDataLoader`` whose epoch has ended."""
_OTHERS = {DistributedType.DEEPSPEED, DistributedType.MEGATRON_LM}
_LOADED = ("*.bin", "*.pkl")
"""What ``load_state`` unpickles; models are in safetensors."""


def accelerate_checkpoints(
    accelerator: Accelerator,
    parts: Mapping[str, Any] | None = None,
    *,
    keep: int = 2,
    environment: Environment | None = None,
    **options: Any,
) -> Checkpoints:
    """Return checkpoints of what is prepared; first loads the last one, if it exists.

    Every rank calls it, after ``accelerator.prepare``. Generators of every rank are saved too, and
    restored when training begins. The place in the data is saved if the loaders are stateful and
    their order is seeded, and ``Checkpoints.batches(loader)`` begins each epoch.

    Args:
        accelerator: With everything prepared, and registered with ``register_for_checkpointing``.
        parts: With ``state_dict`` and ``load_state_dict``, kept for each rank.
        keep: Number of checkpoints that are kept; at least 2.
        environment: Default: the process's.
        options: Options of ``Checkpoints``.

    Raises:
        SettingError: A variable or an option cannot be used, or Accelerate would name the
            directories itself.
    """
    if accelerator.project_configuration.automatic_checkpoint_naming:
        raise SettingError("automatic_checkpoint_naming: leave it off, directories are named here")
    epochs = _Epochs(accelerator)
    library = Library(
        save=lambda path: accelerator.save_state(str(path)),
        load=partial(_load, accelerator),
        inspect=partial(_inspect, accelerator),
        verify=_verify,
    )
    own = {**(parts or {}), _EPOCHS: epochs}
    return library_checkpoints(library, own, keep=keep, environment=environment, options=options)


def _load(accelerator: Accelerator, path: Path) -> None:
    """Load, and begin no epoch of a loader that had ended its own, such as that of the evaluation.

    Its next iterator would be made twice, first with the old state (torchdata 0.11.0,
    ``StatefulDataLoader.__iter__``), and each draws from the generators of the training. Made here
    it draws before they are restored.
    """
    accelerator.load_state(str(path))
    for loader in accelerator._dataloaders:  # noqa: SLF001 - nothing else has all of them
        loaded: Any = getattr(loader, "base_dataloader", None)
        if (getattr(loaded, "next_iter_state", None) or {}).get(_ENDED):
            loaded._get_iterator()  # noqa: SLF001 - takes the state, begins nothing


class _Epochs:
    """The epoch of each prepared loader, which ``save_state`` leaves out: it seeds the order."""

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator

    def state_dict(self) -> Mapping[str, Any]:
        """Return the epochs, in the order in which the loaders were prepared."""
        return {"epochs": [loader.iteration for loader in self._loaders()]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Let each loader continue in its epoch."""
        for loader, epoch in zip(self._loaders(), state["epochs"]):
            loader.set_epoch(epoch)

    def _loaders(self) -> list[Any]:
        prepared = self._accelerator._dataloaders  # noqa: SLF001 - nothing else has all of them
        return [loader for loader in prepared if hasattr(loader, "iteration")]


def _inspect(accelerator: Accelerator, folder: Path) -> None:
    """Other libraries name their files; models may be saved by a hook of the program."""
    inspect_below(str(folder))
    if accelerator.distributed_type in _OTHERS:
        return
    for index in range(len(accelerator._optimizers)):  # noqa: SLF001 - nothing else has all of them
        name = f"optimizer_{index}" if index else "optimizer"
        if not any(folder.glob(f"{name}*")):
            raise UnloadableError(f"{folder}: there is no {name}.bin")


def _verify(folder: Path) -> None:
    for pattern in _LOADED:
        for file in folder.glob(pattern):
            load(file, map_location="cpu")
