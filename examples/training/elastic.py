"""Data-parallel training whose workers join and leave between two steps; run by every pod.

In each step rank 0 splits one global batch among those who are there and adds up what they give. A
part that is lost on its way it computes itself. So the losses are the same however many take part,
but for the order in which floats are added. Rank 0 alone keeps parameters and checkpoints; the
others remember nothing, and may be ended at any moment.

Environment: INDEX, ROOT_HOST, POD_IP (rank 0 only), PORT, STEPS, SEED, POLL_SECONDS, and for the
pace of a step with w workers, A/w + b + d·w: COMPUTE_SECONDS (A), FIXED_SECONDS (b),
EXCHANGE_SECONDS (d).
"""

import math
import time
from itertools import pairwise

import numpy as np
import wire
from crew import OVER, Crew
from model import Data, Vector, first_parameters, loss_and_gradient, make_data
from progress import setting, start
from single import Checkpoint

from shuntyard_trainer import Checkpoints, MetricsWriter

LEARNING_RATE = 0.8
BATCH = 1024


def part(parameters: Vector, data: Data, step: int, first: int, last: int) -> Vector:
    """Return the part of samples ``first`` to ``last`` in a step's loss and gradient.

    They take their part of COMPUTE_SECONDS, as with a larger model.
    """
    begun, share = time.monotonic(), (last - first) / BATCH
    batch = data.batch(step, BATCH)
    mine = Data(batch.inputs[first:last], batch.classes[first:last])
    loss, gradient = loss_and_gradient(parameters, mine)
    seconds = share * float(setting("COMPUTE_SECONDS", "0.2"))
    time.sleep(max(0.0, seconds - (time.monotonic() - begun)))
    return share * np.concatenate([[loss], gradient])


def together(crew: Crew, parameters: Vector, data: Data, step: int) -> tuple[float, Vector]:
    """Return loss and gradient of a step's whole batch."""
    ranks = [0, *sorted(crew.present)]
    ends = np.linspace(0, BATCH, len(ranks) + 1).astype(int)
    parts = dict(zip(ranks, pairwise(ends), strict=True))
    for rank in ranks[1:]:
        crew.ask(rank, step, np.concatenate([parts[rank], parameters]))
    total = part(parameters, data, step, *parts[0])
    for rank in ranks[1:]:
        given = crew.given_by(rank)
        total += part(parameters, data, step, *parts[rank]) if given is None else given
    return float(total[0]), total[1:]


def lead(data: Data, port: int) -> None:
    """Be rank 0: train from the last checkpoint, or from the beginning, to the end."""
    steps, seed = int(setting("STEPS", "200")), int(setting("SEED", "5"))
    fixed = float(setting("FIXED_SECONDS", "0.02"))
    exchange = float(setting("EXCHANGE_SECONDS", "0.005"))
    directory = setting("SHUNTYARD_CHECKPOINT_DIR", "")
    kept = Checkpoint(directory, first_parameters(seed))
    checkpoints = Checkpoints.from_environment(
        kept.save if directory else None, poll_seconds=float(setting("POLL_SECONDS", "1"))
    )
    if checkpoints.resume is not None:
        kept.parameters = np.load(checkpoints.resume.path)
        print(f"resumed at step {checkpoints.resume.step}", flush=True)
    metrics = MetricsWriter.from_environment()
    crew = Crew(wire.listen(setting("POD_IP", "127.0.0.1"), port))
    for index in checkpoints.steps(steps):  # asked for a checkpoint, it saves and holds in between
        workers = crew.boundary()
        loss, gradient = together(crew, kept.parameters, data, index)
        kept.parameters = kept.parameters - LEARNING_RATE * gradient
        time.sleep(fixed + exchange * workers)
        print(f"step={index + 1} loss={loss:.4f} workers={workers}", flush=True)
        metrics.write(index + 1, total_steps=steps, loss=loss, workers=workers)
    crew.dismiss()


def follow(rank: int, data: Data, host: str, port: int) -> None:
    """Be another rank: compute the parts that rank 0 requests, until the training is complete.

    If rank 0 goes, the next one is waited for, however long it takes.
    """
    while True:
        with wire.connect(host, port, patience_seconds=math.inf) as root:
            try:
                wire.send(root, rank, np.empty(0))
                step, order = wire.receive(root)
                while step != OVER:
                    wire.send(root, step, part(order[2:], data, step, int(order[0]), int(order[1])))
                    step, order = wire.receive(root)
            except OSError as error:
                print(f"rank 0 is gone: {error}", flush=True)
            else:
                return


def main() -> None:
    """Run as rank 0 or as another rank, by the index."""
    start()
    rank, port = int(setting("INDEX", "0")), int(setting("PORT", "2222"))
    data = make_data(int(setting("SEED", "5")))
    if rank == 0:
        lead(data, port)
    else:
        follow(rank, data, setting("ROOT_HOST", "127.0.0.1"), port)


if __name__ == "__main__":
    main()
