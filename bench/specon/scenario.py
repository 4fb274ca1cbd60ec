"""SpeCon's fixed scenario in small: arrivals of the jobs, and their first nodes.

One *simulated second* of the published experiments takes ``scale`` seconds here, and a node does
one node-second of work in it. Jobs, spread of their lengths and loss shapes are those of the
simulation's model W; arrivals are 50 simulated seconds apart, round robin over the nodes.

Source:
    Mao et al., arXiv 2010.11307, Sect. VI (fixed schedule); model W is our calibration of it
    (docs/experiments/specon-small.md).
"""

import math
import random
from dataclasses import dataclass
from typing import Final

from bench.specon.jobs import Training

BUDGET_CORES: Final = 0.25
"""CPU that the pods of a node share: a process node's budget with four nodes."""
SPACING_SECONDS: Final = 50.0
STEP_CPU_SECONDS: Final = 0.04
STEEPNESS_SPREAD: Final = 0.1
LENGTH_SPREAD: Final = 0.1
FRAMEWORK_SPREAD: Final = 0.3
"""Relative change of a job's length by its framework."""


@dataclass(frozen=True)
class Shape:
    """A kind of model.

    Attributes:
        name: In lower case, for names of jobs.
        steepness: k of the loss.
        floor: Final loss; it begins at 1.
        node_seconds: Work of a job.
    """

    name: str
    steepness: float
    floor: float
    node_seconds: float


SHAPES: Final = (
    Shape("vae", 5.2, 0.64, 200.0),
    Shape("gru", 11.5, 0.1, 278.0),
    Shape("birnn", 19.6, 0.1, 423.0),
)


@dataclass(frozen=True)
class Arrival:
    """Arrival of a job.

    Attributes:
        training: The job.
        shape: Its model.
        at_seconds: Submission, from the beginning of the run.
        node: Its first node, from 0.
    """

    training: Training
    shape: Shape
    at_seconds: float
    node: int


def arrivals(count: int, nodes: int, *, seed: int, scale: float) -> tuple[Arrival, ...]:
    """Return the jobs of a run, the same for the same arguments: equal shares, random order."""
    rng = random.Random(seed)  # noqa: S311 - a scenario, nothing secret
    shapes = [SHAPES[i % len(SHAPES)] for i in range(count)]
    rng.shuffle(shapes)
    return tuple(
        Arrival(
            _training(f"{shape.name}-{i:02d}", shape, rng, scale),
            shape,
            i * SPACING_SECONDS * scale,
            i % nodes,
        )
        for i, shape in enumerate(shapes)
    )


def _training(name: str, shape: Shape, rng: random.Random, scale: float) -> Training:
    framework = rng.choice((1.0 - FRAMEWORK_SPREAD, 1.0 + FRAMEWORK_SPREAD))
    own = rng.uniform(1.0 - LENGTH_SPREAD, 1.0 + LENGTH_SPREAD)
    cpu_seconds = shape.node_seconds * framework * own * scale * BUDGET_CORES
    bend = math.exp(rng.uniform(-STEEPNESS_SPREAD, STEEPNESS_SPREAD))
    return Training(
        name,
        steps=round(cpu_seconds / STEP_CPU_SECONDS),
        steepness=round(shape.steepness * bend, 3),
        floor=shape.floor,
        seed=rng.randrange(2**31),
        step_cpu_seconds=STEP_CPU_SECONDS,
        node_selector={start_label(name): ""},
    )


def start_label(job: str) -> str:
    """Return the label on a job's first node before it begins, and on all nodes afterwards."""
    return f"bench.shuntyard.io/{job}"
