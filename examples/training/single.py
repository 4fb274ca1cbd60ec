"""Training in one pod: the same network, plain gradient descent.

Environment: STEPS, SEED.
"""

from model import first_parameters, loss_and_gradient, make_data
from progress import Progress, setting, start

LEARNING_RATE = 0.8
BATCH = 8192


def main() -> None:
    """Train."""
    start()
    steps, seed = int(setting("STEPS", "80")), int(setting("SEED", "3"))
    data, parameters, progress = make_data(seed), first_parameters(seed), Progress()
    for step in range(steps):
        loss, gradient = loss_and_gradient(parameters, data.batch(step, BATCH))
        parameters = parameters - LEARNING_RATE * gradient
        progress.step(step, loss)


if __name__ == "__main__":
    main()
