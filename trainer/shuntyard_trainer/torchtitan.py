"""Checkpoints and metrics for trainings with torchtitan: two entries of its configuration.

Source:
    https://github.com/pytorch/torchtitan v0.3.0: ``components/checkpointer/dcp.py``,
    ``components/metrics.py``, ``trainer.py`` (``train``).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import distributed
from torchtitan.components.checkpointer import CheckpointManager
from torchtitan.components.metrics import MetricsProcessor

from shuntyard_trainer import torch_ranks, torch_shards
from shuntyard_trainer.boundary import Order
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.errors import SettingError
from shuntyard_trainer.framework_run import FrameworkRun
from shuntyard_trainer.metrics import MetricsWriter
from shuntyard_trainer.torch_folders import rank, world_size

_TRAINER = "train_state"
"""Of the states that torchtitan saves: its ``Trainer``."""
_SAVED = {_TRAINER, "optimizer", "lr_scheduler", "dataloader"}
"""Of each checkpoint, beside the model, whose names have no common part."""


class ShuntyardCheckpoints(CheckpointManager):
    """Saves on request as torchtitan saves, then answers, holds, or exits with 143.

    ::

        config.checkpoint = ShuntyardCheckpoints.Config(interval=500)
        config.metrics = ShuntyardMetrics.Config(log_freq=10)

    With ``SHUNTYARD_CHECKPOINT_DIR`` the directories ``step-N`` are there, and not in ``folder``.
    The run resumes from the last one that was reported complete. Saves of its own are reported
    too; those in the background when the next one begins. Its checkpoints have no random
    generators. A save that fails ends the training, and the request is not answered.

    Raises:
        SettingError: A checkpoint could not be resumed with this configuration, or a variable
            cannot be used.
    """

    @dataclass(kw_only=True, slots=True)
    class Config(CheckpointManager.Config):
        """torchtitan's settings, and those of ``Checkpoints``."""

        enable: bool = True
        last_save_model_only: bool = False
        poll_seconds: float = 1.0
        """Least time between two checks for a request."""

    def __init__(self, config: Config, **parts: Any) -> None:
        _check(config)
        options = {
            "poll_seconds": config.poll_seconds,
            "inspect": _inspect,
            "verify": _verify,
            "every_rank_verifies": torch_ranks.several(),
        }
        self._run = FrameworkRun(None, MetricsWriter(None), options)
        self._clock = Clock()
        self._order: Order | None = None
        self._unreported: tuple[int, float] | None = None
        super().__init__(config, **parts)
        if self._run.environment.checkpoint_dir is not None:
            self.folder = str(self._run.environment.checkpoint_dir)

    def _load(self, step: int = -1) -> bool:
        """Load the reported checkpoint, or what torchtitan finds; then the run begins.

        Raises:
            SystemExit: With 143, if SIGTERM came already.
        """
        reported = self._run.resume_path
        if step < 0 and reported is not None:
            step = int(Path(reported).name.rpartition("-")[2])
        loaded: bool = super()._load(step)
        several, trainer = torch_ranks.several(), self.states[_TRAINER]
        self._run.start(
            trainer.step,
            None,
            rank=distributed.get_rank(),
            world_size=distributed.get_world_size(),
            local_rank=self._run.environment.local_rank,
            agree=torch_ranks.agree() if several else None,
            every_rank_saves=True,
        )
        if not trainer.should_continue_training():  # ended at its last step
            self._run.checkpoints.done(trainer.step)
        return loaded

    def _save(self, curr_step: int, last_step: bool = False) -> bool:  # noqa: FBT001, FBT002 - torchtitan's
        """Pass a boundary; an order makes torchtitan save now.

        Raises:
            SystemExit: With 143, after SIGTERM.
        """
        if curr_step == 0:  # the seed checkpoint, without a training
            return bool(super()._save(curr_step, last_step))
        order = self._order = self._run.checkpoints.due(curr_step)
        since = self._clock.now()
        saved: bool = super()._save(curr_step, last_step)
        self._order = None
        if saved:
            self._unreported = curr_step, since
        if order is not None:
            self._wait_for_write()
            self._unreported = None
            self._run.checkpoints.conclude(order, self._create_checkpoint_id(curr_step))
        elif self.save_future is None:
            self._report()
        if last_step:
            self._run.checkpoints.done(curr_step)
        return saved

    def _should_save(self, curr_step: int, last_step: bool = False) -> bool:  # noqa: FBT001, FBT002 - torchtitan's
        return self._order is not None or bool(super()._should_save(curr_step, last_step))

    def _wait_for_saving(self) -> None:
        self._wait_for_write()
        self._report()

    def _wait_for_write(self) -> None:
        if self.save_future is not None:
            super()._wait_for_saving()

    def _report(self) -> None:
        """Report what torchtitan has written by itself."""
        if self._unreported is not None:
            (step, since), self._unreported = self._unreported, None
            self._run.checkpoints.note_saved(step, self._create_checkpoint_id(step), since)


class ShuntyardMetrics(MetricsProcessor):
    """Writes to ``SHUNTYARD_METRICS_FILE`` what torchtitan logs, at the steps of ``log_freq``.

    With pipeline parallelism it writes nothing, because only the last stage has the loss: the agent
    reads the lines that torchtitan prints.
    """

    @dataclass(kw_only=True, slots=True)
    class Config(MetricsProcessor.Config):
        """torchtitan's settings."""

    def __init__(self, config: Config, **parts: Any) -> None:
        super().__init__(config, **parts)
        pipeline = self.parallel_dims.pp_enabled
        self._writer = MetricsWriter(None) if pipeline else MetricsWriter.from_environment()
        self._total = ((parts.get("config_dict") or {}).get("training") or {}).get("steps")

    def log(
        self,
        step: int,
        global_avg_loss: float,
        global_max_loss: float,
        grad_norm: float,
        extra_metrics: dict[str, Any] | None = None,
    ) -> None:
        """Write loss, greatest loss of a rank and norm of the gradients, then log as before."""
        self._writer.write(
            step,
            total_steps=self._total,
            loss=global_avg_loss,
            max_loss=global_max_loss,
            grad_norm=grad_norm,
        )
        super().log(step, global_avg_loss, global_max_loss, grad_norm, extra_metrics)

    def close(self) -> None:
        """Close the file, too."""
        self._writer.close()
        super().close()


def _check(config: ShuntyardCheckpoints.Config) -> None:
    for name, wrong, why in (
        ("enable", not config.enable, "no request could be answered"),
        ("load_only", config.load_only, "no request could be answered"),
        ("last_save_model_only", config.last_save_model_only, "the last one cannot be resumed"),
    ):
        if wrong:
            raise SettingError(f"checkpoint.{name}={getattr(config, name)}: {why}")


def _inspect(path: str) -> None:
    """Check that all states are there, with all shards.

    Raises:
        UnloadableError: Something is missing.
    """
    torch_shards.require_states(Path(path), _SAVED)


def _verify(path: str) -> None:
    """Load this rank's part of the shards; the ranks together load everything."""
    torch_shards.load_part(Path(path), rank(), world_size())
