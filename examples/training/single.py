"""Training in one pod: the same network, plain gradient descent; it resumes from its checkpoints.

Environment: STEPS, SEED, LEARNING_RATE, STEP_CPU_SECONDS.
"""

import time
from pathlib import Path

import numpy as np
from model import Data, Vector, first_parameters, loss_and_gradient, make_data
from progress import Progress, setting, start

from shuntyard_trainer import Checkpoints

SAMPLES = 4096


class Checkpoint:
    """The parameters and their checkpoint files, of which only the newest stays."""

    def __init__(self, directory: str, parameters: Vector) -> None:
        self.directory, self.parameters = Path(directory), parameters

    def save(self, step: int) -> Path:
        """Write the parameters after so many steps."""
        path = self.directory / f"step-{step}.npy"
        np.save(path, self.parameters)
        for old in set(self.directory.glob("step-*.npy")) - {path}:
            old.unlink()
        return path


def worked_out(parameters: Vector, data: Data, cpu_seconds: float) -> tuple[float, Vector]:
    """Return loss and gradient, computed until so much processor time is used.

    It stands for a larger model: the small one needs more or less by machine, and whether three
    jobs crowd a node must not depend on that.
    """
    begun = time.process_time()
    while True:
        result = loss_and_gradient(parameters, data)
        if time.process_time() - begun >= cpu_seconds:
            return result


def main() -> None:
    """Train from the last checkpoint, or from the beginning."""
    start()
    steps, seed = int(setting("STEPS", "80")), int(setting("SEED", "3"))
    rate = float(setting("LEARNING_RATE", "0.8"))
    cpu_seconds = float(setting("STEP_CPU_SECONDS", "0"))
    data, progress = make_data(seed).batch(0, SAMPLES), Progress(steps)
    directory = setting("SHUNTYARD_CHECKPOINT_DIR", "")
    kept = Checkpoint(directory, first_parameters(seed))
    checkpoints = Checkpoints.from_environment(kept.save if directory else None)
    if checkpoints.resume is not None:
        kept.parameters = np.load(checkpoints.resume.path)
        print(f"resumed at step {checkpoints.resume.step}", flush=True)
    for index in checkpoints.steps(steps):
        loss, gradient = worked_out(kept.parameters, data, cpu_seconds)
        kept.parameters = kept.parameters - rate * gradient
        progress.step(index + 1, loss)


if __name__ == "__main__":
    main()
