"""Common part of all framework callbacks: one run with metrics and checkpoints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from shuntyard_trainer.checkpoints import Checkpoints
from shuntyard_trainer.environment import Environment
from shuntyard_trainer.errors import SettingError
from shuntyard_trainer.metrics import MetricsWriter, number
from shuntyard_trainer.ranks import Agree
from shuntyard_trainer.saving import Save, last_saved
from shuntyard_trainer.termination import Termination

_INVALID = re.compile(r"[^A-Za-z0-9_./-]")
_LONGEST_NAME = 100


class FrameworkRun:
    """Catches SIGTERM from the start; gets the ranks later, from the framework.

    Args:
        environment: Default: the process's.
        metrics: Default: the pod's metrics file, written by the first process of the pod.
        options: Options of ``Checkpoints``.

    Raises:
        SettingError: A variable cannot be used, or SIGTERM cannot be caught on this thread.
    """

    def __init__(
        self,
        environment: Environment | None,
        metrics: MetricsWriter | None,
        options: Mapping[str, Any],
    ) -> None:
        self.environment = environment or Environment.read()
        self._metrics = metrics
        self._options = dict(options)
        self._termination = Termination()
        if self._options.get("handle_sigterm", True):
            self._termination.handle_sigterm()
        self._checkpoints: Checkpoints | None = None

    @property
    def resume_path(self) -> str | None:
        """The checkpoint to resume from; None: start from scratch."""
        directory = self._options.get("directory", self.environment.checkpoint_dir)
        saved = last_saved(directory)
        return None if saved is None or not saved.path else saved.path

    @property
    def checkpoints(self) -> Checkpoints:
        """Checkpoints of the started run.

        Raises:
            SettingError: No run has started.
        """
        if self._checkpoints is None:
            raise SettingError("the training has not begun")
        return self._checkpoints

    def start(
        self,
        completed: int,
        save: Save | None,
        *,
        rank: int,
        world_size: int,
        local_rank: int,
        agree: Agree | None,
        every_rank_saves: bool,
    ) -> None:
        """Begin a run at ``completed`` steps.

        Raises:
            SystemExit: With 143, if SIGTERM came already.
        """
        defaults: dict[str, Any] = {
            "rank": rank,
            "world_size": world_size,
            "agree": agree,
            "every_rank_saves": every_rank_saves,
            "termination": self._termination,
        }
        self._checkpoints = Checkpoints.from_environment(
            save, environment=self.environment, **{**defaults, **self._options}
        )
        if self._metrics is None:
            path = self.environment.metrics_file if local_rank == 0 else None
            self._metrics = MetricsWriter(path)
        self._checkpoints.begin(completed)

    def write(self, step: int, values: Mapping[str, Any], total_steps: int | None) -> None:
        """Append the values that are numbers, under valid metric names."""
        numbers = {_name(name): value for name, value in values.items() if _is_number(value)}
        if numbers and self._metrics is not None:
            self._metrics.write(step, total_steps=total_steps, **numbers)


def _name(name: str) -> str:
    plain = _INVALID.sub("_", name)[:_LONGEST_NAME]
    return plain if plain[:1].isalpha() else f"_{plain}"[:_LONGEST_NAME]


def _is_number(value: Any) -> bool:
    if isinstance(value, (str, bytes)):
        return False
    try:
        number(value)
    except (TypeError, ValueError, RuntimeError):
        return False
    return True
