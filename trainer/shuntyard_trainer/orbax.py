"""Checkpoints for JAX, saved by Orbax.

Source:
    https://orbax.readthedocs.io/en/latest/guides/checkpoint/api_refactor.html:
    ``StandardCheckpointer``, whose ``save`` returns before the files are written.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from orbax import checkpoint as ocp

from shuntyard_trainer.checkpoints import Checkpoints
from shuntyard_trainer.environment import Environment
from shuntyard_trainer.saving import Pending
from shuntyard_trainer.step_files import StepFiles, remove


class OrbaxState:
    """A tree of arrays that is saved; first loads the last checkpoint, if it exists.

    ::

        training = OrbaxState({"parameters": parameters, "key": jax.random.key_data(key)})
        for step in training.checkpoints.steps(1000):
            training.state, loss = update(training.state)

    Everything that the training needs to continue is in the tree: parameters, the optimizer's
    state, the key of its random numbers, the place in the data. One process.

    Args:
        state: The first one; a checkpoint is loaded in its shape.
        asynchronous: Write in the background, as Orbax does.
        keep: Number of checkpoints that are kept; at least 2.
        environment: Default: the process's.
        options: Options of ``Checkpoints``.

    Attributes:
        state: The present one; replace it at each step.
        checkpoints: Pass a boundary after each step.

    Raises:
        SettingError: A variable or an option cannot be used.
        ValueError: The last checkpoint has another shape.
    """

    def __init__(
        self,
        state: Any,
        *,
        asynchronous: bool = False,
        keep: int = 2,
        environment: Environment | None = None,
        **options: Any,
    ) -> None:
        here = environment or Environment.read()
        self.state = state
        self._asynchronous = asynchronous
        self._files = StepFiles(here.checkpoint_dir, "", keep) if here.checkpoint_dir else None
        self._checkpointer = ocp.StandardCheckpointer()
        self._waiting = ThreadPoolExecutor(max_workers=1)
        self.checkpoints = Checkpoints.from_environment(
            self._save, environment=here, **{"verify": self._load, **options}
        )
        if self.checkpoints.resume is not None:
            self.state = self._load(self.checkpoints.resume.path)

    def _save(self, step: int) -> Path | Pending | None:
        if self._files is None:
            return None
        path = self._files.path(step).absolute()
        remove(path)
        self._checkpointer.save(path, self.state)
        if self._asynchronous:
            return Pending.of_future(path, self._waiting.submit(self._finish, path))
        self._finish(path)
        return path

    def _finish(self, path: Path) -> None:
        self._checkpointer.wait_until_finished()
        if self._files is not None:
            self._files.prune(path)

    def _load(self, path: str) -> Any:
        return self._checkpointer.restore(Path(path).absolute(), target=self.state)
