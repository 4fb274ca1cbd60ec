"""Callback for the Trainer of Hugging Face transformers.

Source:
    https://huggingface.co/docs/transformers/main_classes/callback: ``TrainerCallback``,
    ``TrainerControl.should_save``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import (
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from shuntyard_trainer import torch_ranks
from shuntyard_trainer.boundary import Order
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.environment import Environment
from shuntyard_trainer.errors import SettingError, UnloadableError
from shuntyard_trainer.framework_run import FrameworkRun
from shuntyard_trainer.metrics import MetricsWriter
from shuntyard_trainer.torch_files import load_file
from shuntyard_trainer.torch_shards import inspect_below

_LOADED = ("optimizer.pt", "scheduler.pt")
"""Files that the Trainer loads with ``weights_only``; the model is in safetensors."""
_TEXTS = (".json", ".txt", ".md", ".jinja", ".model")
"""Of configuration and tokenizer; a program may save its model under any other name."""
_SUMMARY = "train_runtime"
"""Key of a log's last entry; its loss is a mean of the run and not a new point."""


class ShuntyardCallback(TrainerCallback):
    """Lets the Trainer save on request, then answers, holds, or exits with 143.

    ::

        shuntyard = ShuntyardCallback()
        trainer = Trainer(..., callbacks=[shuntyard])
        trainer.train(resume_from_checkpoint=shuntyard.resume_path)

    A step is one of ``state.global_step``. A save that fails ends the training, as usual with
    the Trainer; then the request is not answered. With ``enable_jit_checkpoint`` the checkpoint at
    SIGTERM is this one: saved by the Trainer at the end of the step, then exit with 143.

    Args:
        metrics: Default: ``SHUNTYARD_METRICS_FILE``.
        environment: Default: the process's.
        options: Options of ``Checkpoints``, e.g. ``poll_seconds``, ``save_every_seconds``.

    Raises:
        SettingError: A variable or an option cannot be used.
    """

    def __init__(
        self,
        *,
        metrics: MetricsWriter | None = None,
        environment: Environment | None = None,
        **options: Any,
    ) -> None:
        self._run = FrameworkRun(
            environment, metrics, {"verify": _load, "inspect": _inspect, **options}
        )
        self._clock = Clock()
        self._order: Order | None = None
        self._saving_since = 0.0
        self._save_at_end = bool(options.get("save_at_end", True))

    @property
    def resume_path(self) -> str | None:
        """For ``Trainer.train(resume_from_checkpoint=…)``; None: start from scratch."""
        return self._run.resume_path

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Start the run.

        Raises:
            SettingError: The arguments contradict the contract.
            SystemExit: With 143, if SIGTERM came already.
        """
        _check(args)
        self._run.start(
            state.global_step,
            None,
            rank=args.process_index,
            world_size=args.world_size,
            local_rank=args.local_process_index,
            agree=torch_ranks.agree() if torch_ranks.several() else None,
            every_rank_saves=True,
        )

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        """Pass a boundary; an order makes the Trainer save before the next step."""
        order = self._run.checkpoints.due(state.global_step)
        if order is None and self._order is not None:  # Trainer dropped it: save_strategy "best"
            order = replace(self._order, step=state.global_step)
        last = self._save_at_end and state.global_step >= state.max_steps
        if order is not None or last:
            control.should_save = True
        self._order = order
        self._saving_since = self._clock.now()
        return control

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Note that saving begins only now."""
        self._saving_since = self._clock.now()

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Report the checkpoint that the Trainer has written.

        Raises:
            SystemExit: With 143, after SIGTERM.
            SaveError: A checkpoint of the Trainer's own is not complete on every rank.
        """
        path = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        order, self._order = self._order, None
        if order is None:
            self._run.checkpoints.note_saved(state.global_step, path, self._saving_since)
        else:
            order = replace(order, started_at=self._saving_since)
            self._run.checkpoints.conclude(order, path)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Write what the Trainer logs."""
        if logs is not None and _SUMMARY not in logs:
            self._run.write(state.global_step, logs, state.max_steps)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Report that the training is complete."""
        self._run.checkpoints.done(state.global_step)


def _load(path: str) -> None:
    """Load what the Trainer loads when it resumes, except for the model."""
    json.loads((Path(path) / "trainer_state.json").read_text(encoding="utf-8"))
    for name in _LOADED:
        if (Path(path) / name).exists():
            load_file(str(Path(path) / name), weights_only=True)


def _inspect(path: str) -> None:
    """Check that nothing is missing; the Trainer would begin with a new optimizer without a word.

    Raises:
        UnloadableError: A part is missing.
    """
    folder, names = Path(path), {each.name for each in Path(path).iterdir()}
    by_engine = any(name.startswith("global_step") for name in names)  # DeepSpeed has it all
    for what, found in (
        ("trainer_state.json", "trainer_state.json" in names),
        ("optimizer.pt", by_engine or any("optimizer" in name for name in names)),
        ("scheduler.pt", by_engine or "scheduler.pt" in names),
        ("model", by_engine or any(map(_has_weights, names))),
    ):
        if not found:
            raise UnloadableError(f"{folder}: there is no {what}")
    for index in folder.glob("*.index.json"):
        for shard in set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()):
            if not (folder / shard).exists():
                raise UnloadableError(f"{folder}: {index.name} names {shard}, which is missing")
    inspect_below(path)


def _has_weights(name: str) -> bool:
    others = name.startswith(("optimizer", "scheduler", "scaler", "rng_state", "training_args"))
    return not others and not name.endswith(_TEXTS)


def _check(args: TrainingArguments) -> None:
    if getattr(args, "save_only_model", False):
        raise SettingError("save_only_model: a checkpoint without the optimizer cannot be resumed")
