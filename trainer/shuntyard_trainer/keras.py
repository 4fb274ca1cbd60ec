"""Callback for Keras 3, on every backend.

Source:
    https://keras.io/api/callbacks/base_callback/ and Keras's own ``BackupAndRestore``, which
    resumes in the same way.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import keras

from shuntyard_trainer.environment import Environment
from shuntyard_trainer.errors import SettingError
from shuntyard_trainer.framework_run import FrameworkRun
from shuntyard_trainer.metrics import MetricsWriter
from shuntyard_trainer.step_files import StepFiles, remove

_WEIGHTS = "model.weights.h5"
_POSITION = "position.json"


@dataclass(frozen=True)
class Position:
    """Where in a run of ``fit``: ``step`` batches in all, ``batch`` of them in ``epoch``."""

    step: int = 0
    epoch: int = 0
    batch: int = 0


class _EndOfPartialEpoch:
    """Value of ``model.stop_training`` that ends this epoch, but not the training."""


class ShuntyardCallback(keras.callbacks.Callback):
    """Saves weights, optimizer and position, then answers, holds, or exits with 143.

    ::

        model.fit(data, epochs=20, callbacks=[ShuntyardCallback()])

    It resumes by itself when ``fit`` begins: within the epoch, after the batches that are done. A
    step is a batch, counted over all epochs. Where Keras does not know how many batches an epoch
    has (a generator without ``steps_per_epoch``), it saves between epochs only. It belongs to one
    call of ``fit``.

    Args:
        keep: Number of our checkpoints that are kept; at least 2.
        log_every_batches: How often the running means of an epoch are written, as
            ``batch_<name>``; the means of whole epochs are written as ``<name>``.
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
        log_every_batches: int = 10,
        metrics: MetricsWriter | None = None,
        environment: Environment | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self._run = FrameworkRun(
            environment, metrics, {"verify": _read_all, "inspect": _inspect, **options}
        )
        directory = options.get("directory", self._run.environment.checkpoint_dir)
        self._files = StepFiles(Path(directory), "", keep) if directory else None
        self._log_every_batches = log_every_batches
        self._began = self._at = Position()
        self._batches: int | None = None

    @property
    def resume_path(self) -> str | None:
        """The checkpoint that ``fit`` will resume from; None: it starts from scratch."""
        return self._run.resume_path

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:
        """Resume, if there is a checkpoint, and begin.

        Raises:
            SettingError: The model is not built, or this Keras cannot resume.
            SystemExit: With 143, if SIGTERM came already.
        """
        here = self._run.environment
        self._batches = self.params.get("steps")
        path = self._run.resume_path
        if path is not None:
            self._load(Path(path))
        self._run.start(
            self._at.step,
            self._save,
            rank=here.rank,
            world_size=here.world_size,
            local_rank=here.local_rank,
            agree=None,
            every_rank_saves=False,
        )

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Note where the epoch began; a resumed one begins after its first batches."""
        resumed = self._at.batch > 0 and self._at.epoch == epoch
        self._began = Position(self._at.step, epoch, self._at.batch if resumed else 0)
        self.model._initial_epoch = None  # noqa: SLF001 - our value was for this call of fit only

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Pass a boundary; at the last batch of an epoch ``on_epoch_end`` does.

        Raises:
            SystemExit: With 143, after SIGTERM.
        """
        began, most = self._began, self._batches
        done = batch + 1 if most is None else min(batch + 1, most - began.batch)
        self._at = Position(began.step + done, began.epoch, began.batch + done)
        if self._at.step % self._log_every_batches == 0:
            self._write({f"batch_{name}": value for name, value in (logs or {}).items()})
        if most is None:
            return
        if self._at.batch < most:
            self._run.checkpoints.step_done(self._at.step)
        elif began.batch > 0 and not self._model.stop_training:
            self._model.stop_training = _EndOfPartialEpoch()

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Pass a boundary, after the validation.

        Raises:
            SystemExit: With 143, after SIGTERM.
        """
        if isinstance(self._model.stop_training, _EndOfPartialEpoch):
            self._model.stop_training = False
        self._write(logs or {})
        self._at = Position(self._at.step, epoch + 1, 0)
        self._run.checkpoints.step_done(self._at.step)

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """Report that the training is complete."""
        self._run.checkpoints.done(self._at.step)

    def _write(self, values: Mapping[str, Any]) -> None:
        epochs = self.params.get("epochs")
        total = self._batches * epochs if self._batches and epochs else None
        self._run.write(self._at.step, values, total)

    def _save(self, step: int) -> Path | None:
        if self._files is None:
            return None
        folder = self._files.unfinished(step)
        remove(folder)
        folder.mkdir()
        self.model.save_weights(folder / _WEIGHTS)
        (folder / _POSITION).write_text(json.dumps(asdict(self._at)), encoding="utf-8")
        return self._files.finish(step)

    def _load(self, folder: Path) -> None:
        model = self.model
        if not model.built or not hasattr(model, "_initial_epoch"):
            raise SettingError("the model is not built, or this Keras cannot resume within fit")
        if model.optimizer is not None and not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        model.load_weights(folder / _WEIGHTS)
        position = json.loads((folder / _POSITION).read_text(encoding="utf-8"))
        self._at = Position(**position)
        model._initial_epoch = self._at.epoch  # noqa: SLF001 - as BackupAndRestore: fit offers nothing else


def _inspect(folder: str) -> None:
    """Check the position, and that the file of the weights has all its bytes, as its head says.

    Raises:
        OSError: A file is missing or shorter.
    """
    Position(**json.loads((Path(folder) / _POSITION).read_text(encoding="utf-8")))
    with _weights(folder):
        pass


def _read_all(folder: str) -> None:
    """Read every value as ``load_weights`` does.

    Raises:
        OSError: A value cannot be read.
    """
    with _weights(folder) as file:
        file.visititems(lambda _, value: value[()] is None if hasattr(value, "shape") else None)


def _weights(folder: str) -> Any:
    h5py = importlib.import_module("h5py")  # Keras needs it for weights, too
    return h5py.File(Path(folder) / _WEIGHTS, "r")
