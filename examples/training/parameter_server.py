"""Data-parallel training with parameter servers; run by every pod of the job.

Each ps holds one slice of the parameters. Each worker computes a gradient on its own share of the
batch, sends each ps its slice and gets the new slice when all workers have given theirs.

Environment: ROLE (ps or worker), INDEX, PS_HOSTS (comma-separated), WORKERS, POD_IP (ps only),
PORT, STEPS, SEED.
"""

import socket
import threading
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import wire
from model import SIZE, Vector, first_parameters, loss_and_gradient, make_data
from progress import Progress, setting, start
from reducing import Reducer

LEARNING_RATE = 0.8
BATCH = 2048
PATIENCE_SECONDS = 120.0


@dataclass(frozen=True)
class Setup:
    """The job's configuration in the environment."""

    index: int
    ps_hosts: tuple[str, ...]
    workers: int
    port: int
    steps: int
    seed: int

    @classmethod
    def read(cls) -> "Setup":
        """Read the environment."""
        hosts = tuple(h for h in setting("PS_HOSTS", "127.0.0.1").split(",") if h)
        return cls(
            index=int(setting("INDEX", "0")),
            ps_hosts=hosts,
            workers=int(setting("WORKERS", "1")),
            port=int(setting("PORT", "2222")),
            steps=int(setting("STEPS", "120")),
            seed=int(setting("SEED", "7")),
        )

    def slices(self) -> list[slice]:
        """Return each ps's part of the parameters."""
        ends = np.linspace(0, SIZE, len(self.ps_hosts) + 1).astype(int)
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]


def serve(setup: Setup) -> None:
    """Be a parameter server until every worker has the last parameters."""
    mine = first_parameters(setup.seed)[setup.slices()[setup.index]]
    reducer = Reducer(setup.workers, setup.steps, mine, lambda p, g: p - LEARNING_RATE * g)
    listener = wire.listen(setting("POD_IP", "127.0.0.1"), setup.port)
    print(f"ps {setup.index} serves {mine.size} parameters", flush=True)
    threading.Thread(target=reducer.serve, args=(listener,), daemon=True).start()
    reducer.wait_until_all_left(setup.workers)
    print(f"ps {setup.index} has served {reducer.step} steps", flush=True)


def work(setup: Setup) -> None:
    """Be a worker until the last step."""
    data, slices = make_data(setup.seed), setup.slices()
    servers = [wire.connect(host, setup.port, PATIENCE_SECONDS) for host in setup.ps_hosts]
    states = _join(servers, setup.index)
    progress = Progress(setup.steps)
    while min(step for step, _ in states) < setup.steps:
        parameters = np.concatenate([part for _, part in states])
        step = states[0][0]
        batch = data.batch(step, BATCH, setup.index, setup.workers)
        loss, gradient = loss_and_gradient(parameters, batch)
        for server, (at, _), part in zip(servers, states, slices, strict=True):
            wire.send(server, at, gradient[part])
        states = [wire.receive(server) for server in servers]
        progress.step(step + 1, loss)
    for server in servers:
        wire.send(server, setup.index, np.empty(0))


def _join(servers: list[socket.socket], rank: int) -> list[tuple[int, Vector]]:
    """Register with each ps; return its current step and parameters."""
    for server in servers:
        wire.send(server, rank, np.empty(0))
    return [wire.receive(server) for server in servers]


def main() -> None:
    """Run as parameter server or worker, by ROLE."""
    start()
    setup = Setup.read()
    if setting("ROLE", "worker") == "ps":
        serve(setup)
    else:
        work(setup)


if __name__ == "__main__":
    main()
