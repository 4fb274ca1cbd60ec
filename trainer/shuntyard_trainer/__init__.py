"""Lets Shuntyard follow and move a training program.

Metrics::

    metrics = MetricsWriter.from_environment()
    metrics.write(step=10, loss=0.31)

Checkpoints on demand::

    checkpoints = Checkpoints.from_environment(save=write_checkpoint)
    for step in checkpoints.steps(1000):
        train(step)

Frameworks have their own modules, which import them: ``torch_loop``, ``torch_dcp``,
``torch_ranks``, ``lightning``, ``keras``, ``huggingface``, ``torchtitan``. All other
modules need only the standard library.
"""

from shuntyard_trainer.boundary import Order
from shuntyard_trainer.checkpoints import Checkpoints
from shuntyard_trainer.environment import Environment
from shuntyard_trainer.errors import (
    RanksError,
    SaveError,
    SettingError,
    TrainerError,
    UnloadableError,
)
from shuntyard_trainer.metrics import MetricsWriter
from shuntyard_trainer.records import Saved
from shuntyard_trainer.saving import Pending
from shuntyard_trainer.verifying import Verifier

__all__ = [
    "Checkpoints",
    "Environment",
    "MetricsWriter",
    "Order",
    "Pending",
    "RanksError",
    "SaveError",
    "Saved",
    "SettingError",
    "TrainerError",
    "UnloadableError",
    "Verifier",
]
