"""The jobs of the experiments: four on three nodes; the article says little more about them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from extender.core.elastic.speed import Mode
from extender.core.parameters.elastic import SpeedParameters
from simulator import seeds
from simulator.models.measured_speeds import MODELS, SCALING
from simulator.models.parameter_server import Amounts, ServerJob

GIB: Final = 2**30
NODES: Final[Mapping[str, Amounts]] = {f"node-{i}": (8000, 30 * GIB) for i in (1, 2, 3)}
"""The article's three nodes of 8 vCPU and 30 GB."""
TICK_SECONDS: Final = 15.0
ARRIVALS, PRIORITIES, CHOICES, LENGTHS = range(4)
"""Random streams of a seed."""


@dataclass(frozen=True)
class Kind:
    """Requests of a kind of job."""

    worker: Amounts
    least: int
    wanted: int
    most: int


@dataclass(frozen=True)
class Assumed:
    """Assumptions where the article is silent; the ablation changes them.

    Attributes:
        near_cost: λ.
        pause_seconds: Pause at a change of workers.
        wanted: Workers at the start: ``usual`` (light 2, heavy 3), ``least`` or ``most``.
    """

    near_cost: float = SpeedParameters.near_cost
    pause_seconds: float = 5.0
    wanted: str = "usual"


LIGHT: Final = Kind((1000, 2 * GIB), 1, 2, 4)
HEAVY: Final = Kind((2000, 6 * GIB), 2, 3, 6)
SERVER: Final[Amounts] = (1000, 2 * GIB)
EXPERIMENTS: Final[Mapping[int, tuple[Kind, ...]]] = {
    1: (LIGHT,) * 4,
    2: (HEAVY,) * 4,
    3: (LIGHT, LIGHT, HEAVY, HEAVY),
}
"""Number of the experiment → its jobs; in the third the last one is important and late."""
URGENT: Final = "job-4"
"""Number of the important job of experiment 3."""
URGENT_UTILITY: Final = 10

SPEEDS: Final[Mapping[str, tuple[Mode, tuple[str, ...]]]] = {
    "linear": (Mode.LINEAR, tuple(MODELS)),
    "async-3": (Mode.ASYNC, SCALING),
    "async": (Mode.ASYNC, tuple(MODELS)),
    "sync": (Mode.SYNC, tuple(MODELS)),
}
"""Name → mode of synchronisation, and the models to draw from."""


def jobs(
    seed: int, experiment: int, speed: str, assumed: Assumed | None = None
) -> tuple[ServerJob, ...]:
    """Return the four jobs of a seed.

    Arrivals, priorities and lengths do not depend on the speeds, so that speeds are comparable.
    """
    assumed = assumed or Assumed()
    kinds = EXPERIMENTS[experiment]
    mode, models = SPEEDS[speed]
    lengths = seeds.generator(seed, LENGTHS).uniform(600.0, 1800.0, len(kinds))
    chosen = seeds.generator(seed, CHOICES).random(len(kinds))
    utilities = seeds.generator(seed, PRIORITIES).integers(1, 4, len(kinds))
    drawn = []
    for i, (kind, arrives_at) in enumerate(zip(kinds, _arrivals(seed, experiment), strict=True)):
        model = MODELS[models[int(chosen[i] * len(models))]]
        rate = model.speed(mode, SpeedParameters(near_cost=assumed.near_cost))
        workers = {"least": kind.least, "most": kind.most}.get(assumed.wanted, kind.wanted)
        urgent = experiment == 3 and i == len(kinds) - 1  # noqa: PLR2004 - the third
        drawn.append(
            ServerJob(
                name=f"job-{i + 1}",
                arrives_at=arrives_at,
                utility=URGENT_UTILITY if urgent else int(utilities[i]),
                server=SERVER,
                servers=1,
                worker=kind.worker,
                least=kind.least,
                wanted=workers,
                most=kind.most,
                speed=rate,
                work=float(lengths[i]) * rate.rate(workers, 1, near=1.0),
                pause_seconds=assumed.pause_seconds,
            )
        )
    return tuple(drawn)


def _arrivals(seed: int, experiment: int) -> list[float]:
    """Return 0, then times within two minutes; the important job comes later."""
    rng = seeds.generator(seed, ARRIVALS)
    at = [0.0, *(float(t) for t in rng.uniform(0.0, 120.0, 3))]
    late = float(rng.uniform(200.0, 400.0))
    return [*at[:3], late] if experiment == 3 else at  # noqa: PLR2004 - the third
