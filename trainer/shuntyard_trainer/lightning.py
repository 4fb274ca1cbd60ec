"""Callback for Lightning.

Source:
    https://lightning.ai/docs/pytorch/stable/api/lightning.pytorch.callbacks.Callback.html
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

from shuntyard_trainer import torch_ranks
from shuntyard_trainer.environment import Environment
from shuntyard_trainer.framework_run import FrameworkRun
from shuntyard_trainer.metrics import MetricsWriter
from shuntyard_trainer.step_files import StepFiles, remove
from shuntyard_trainer.torch_files import load_file
from shuntyard_trainer.torch_generators import process_state, restore_process
from shuntyard_trainer.torch_shards import inspect_below

if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback, LightningModule, Trainer
else:
    from lightning.pytorch import Callback, LightningModule, Trainer


class ShuntyardCallback(Callback):
    """Saves with ``Trainer.save_checkpoint``, then answers, holds, or exits with 143.

    ::

        shuntyard = ShuntyardCallback()
        trainer = Trainer(..., callbacks=[shuntyard])
        trainer.fit(model, ckpt_path=shuntyard.resume_path)

    A step is one of ``trainer.global_step``: an optimizer step. While the training runs, we
    handle SIGTERM: Lightning would exit with 0. Lightning saves the place of a data loader that
    has a state (``StatefulDataLoader``); we add the random generators of every rank.

    Args:
        keep: Number of our checkpoints that are kept; at least 2.
        weights_only: As you give it to ``Trainer.fit``: how a checkpoint is loaded as a test.
        metrics: Default: ``SHUNTYARD_METRICS_FILE``.
        environment: Default: the process's.
        options: Options of ``Checkpoints``, e.g. ``poll_seconds``, ``save_every_seconds``.

    Raises:
        SettingError: A variable or an option cannot be used.
    """

    def __init__(
        self,
        *,
        keep: int = 2,
        weights_only: bool | None = None,
        metrics: MetricsWriter | None = None,
        environment: Environment | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        verify = partial(load_file, weights_only=weights_only)
        self._run = FrameworkRun(
            environment, metrics, {"verify": verify, "inspect": inspect_below, **options}
        )
        directory = options.get("directory", self._run.environment.checkpoint_dir)
        self._files = StepFiles(Path(directory), ".ckpt", keep) if directory else None
        self._last_step = 0
        self._last_metrics: dict[str, Any] = {}
        self._written: set[tuple[int, str]] = set()
        self._ranks: torch_ranks.CpuGroup | None = None
        self._generators: list[dict[str, Any]] = []
        self._restore: list[dict[str, Any]] = []

    @property
    def resume_path(self) -> str | None:
        """For ``Trainer.fit(ckpt_path=…)``; None: start from scratch."""
        return self._run.resume_path

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the run; from here on we handle SIGTERM.

        Raises:
            SystemExit: With 143, if SIGTERM came already.
        """
        self._last_step = trainer.global_step
        if trainer.global_rank < len(self._restore):
            # the iterator of the data exists, and no batch of it was fetched
            restore_process(self._restore[trainer.global_rank])
        self._restore = []
        self._ranks = torch_ranks.CpuGroup() if torch_ranks.several() else None
        self._run.start(
            trainer.global_step,
            lambda step: self._save(trainer, step),
            rank=trainer.global_rank,
            world_size=trainer.world_size,
            local_rank=trainer.local_rank,
            agree=None if self._ranks is None else self._ranks.largest,
            every_rank_saves=True,
        )

    def on_train_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Pass a boundary, if this batch ended with an optimizer step.

        Raises:
            SystemExit: With 143, after SIGTERM.
        """
        step = trainer.global_step
        if step == self._last_step:
            return
        self._last_step = step
        if step % trainer.log_every_n_steps == 0:
            self._write(trainer)
        self._run.checkpoints.step_done(step)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write what the validation logged."""
        if not trainer.sanity_checking:
            self._write(trainer)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write what the epoch logged."""
        self._write(trainer)

    def state_dict(self) -> dict[str, Any]:
        """Return the generators for Lightning's checkpoint; empty in one that is not ours."""
        return {"generators": self._generators} if self._generators else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keep the generators until the training starts."""
        self._restore = state_dict.get("generators", [])

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Report that the training is complete."""
        self._run.checkpoints.done(trainer.global_step)

    def _save(self, trainer: Trainer, step: int) -> Path | None:
        """Save on every rank: strategies that shard the model need all of them."""
        if self._files is None:
            return None
        path = self._files.path(step)
        if trainer.is_global_zero:
            remove(path)
        trainer.strategy.barrier("shuntyard")
        mine = process_state(all_devices=False)
        self._generators = [mine] if self._ranks is None else self._ranks.gather(mine)
        trainer.save_checkpoint(path)
        self._generators = []
        if trainer.is_global_zero:
            self._files.prune(path)
        return path

    def _write(self, trainer: Trainer) -> None:
        """Write new values: Lightning keeps the last value of everything that was logged."""
        step, most, now = trainer.global_step, trainer.max_steps, dict(trainer.callback_metrics)
        new = {
            name: value
            for name, value in now.items()
            if self._last_metrics.get(name) is not value and (step, name) not in self._written
        }
        self._last_metrics = now
        self._written = {(at, name) for at, name in self._written if at == step}
        self._written |= {(step, name) for name in new}
        self._run.write(step, new, most if most > 0 else None)
