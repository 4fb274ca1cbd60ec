"""Data-parallel training by all-reduce through rank 0; run by every pod of the job.

Each rank computes a gradient on its own share of the batch. Rank 0 adds them up; every rank gets
the same new parameters.

Environment: RANK, WORLD_SIZE, ROOT_HOST, POD_IP (rank 0 only), PORT, STEPS, SEED.
"""

import threading

import numpy as np
import wire
from model import Vector, first_parameters, loss_and_gradient, make_data
from progress import Progress, setting, start
from reducing import Reducer

LEARNING_RATE = 0.8
BATCH = 2048
PATIENCE_SECONDS = 120.0


def descend(parameters: Vector, gradient: Vector) -> Vector:
    """Return the parameters after one step of gradient descent."""
    return parameters - LEARNING_RATE * gradient


def lead(ranks: int, steps: int, seed: int, port: int) -> Reducer:
    """Start the reducer in rank 0."""
    reducer = Reducer(ranks, steps, first_parameters(seed), descend)
    listener = wire.listen(setting("POD_IP", "127.0.0.1"), port)
    threading.Thread(target=reducer.serve, args=(listener,), daemon=True).start()
    return reducer


def main() -> None:
    """Train; rank 0 stays until the others have the last parameters."""
    start()
    rank, ranks = int(setting("RANK", "0")), int(setting("WORLD_SIZE", "1"))
    steps, seed = int(setting("STEPS", "100")), int(setting("SEED", "11"))
    port, data = int(setting("PORT", "2222")), make_data(seed)
    reducer = lead(ranks, steps, seed, port) if rank == 0 else None
    host = setting("POD_IP", "127.0.0.1") if rank == 0 else setting("ROOT_HOST", "127.0.0.1")
    root = wire.connect(host, port, PATIENCE_SECONDS)
    wire.send(root, rank, np.empty(0))
    step, parameters = wire.receive(root)
    progress = Progress(steps)
    while step < steps:
        loss, gradient = loss_and_gradient(parameters, data.batch(step, BATCH, rank, ranks))
        wire.send(root, step, gradient)
        done, (step, parameters) = step, wire.receive(root)
        progress.step(done + 1, loss)
    wire.send(root, rank, np.empty(0))
    if reducer is not None:
        reducer.wait_until_all_left(ranks)


if __name__ == "__main__":
    main()
