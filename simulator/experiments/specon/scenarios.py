"""The paper's workloads: classes of jobs, models of how they share a machine, and scenarios."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import numpy as np

from shared.model import NodeName, Uid
from simulator.models.fluid_tasks import LossCurve, Task
from simulator.seeds import generator

VAE: Final = "VAE"
CLASSES: Final = (VAE, "Bi-RNN", "GRU", "RNN", "dynamic RNN")
"""The paper's five models, each in two frameworks."""

CURVES: Final[Mapping[str, LossCurve]] = MappingProxyType(
    {
        VAE: LossCurve(5.2, 0.64),
        "Bi-RNN": LossCurve(19.6, 0.1),
        "GRU": LossCurve(11.5, 0.1),
        "RNN": LossCurve(15.0, 0.1),
        "dynamic RNN": LossCurve(15.0, 0.1),
    }
)
"""Steepness as in figure 1 of the paper, 15 assumed for the two it does not show; the final loss
is assumed (a VAE's reconstruction loss on MNIST ends at 0.64 of its first value)."""


@dataclass(frozen=True)
class SharingModel:
    """Lengths of jobs, and how they share a machine.

    Attributes:
        name: W, T, E or WI.
        what: Description for reports.
        work: Seconds alone on a machine, by class.
        most: Largest share of a machine that one job can use, by class.
        framework_spread: Relative difference between a mean and either framework.
        slowdown: See ``simulator.models.fluid.interference``.

    Source:
        Calibrated to the paper's numbers of its default scheduler (T, E), and also to SpeCon's
        gains there (W, WI): the paper does not give the lengths of its jobs.
    """

    name: str
    what: str
    work: Mapping[str, float]
    most: Mapping[str, float]
    framework_spread: float
    slowdown: float = 0.0


def _by_class(*values: float) -> Mapping[str, float]:
    return dict(zip(CLASSES, values, strict=True))


def _vae_and_others(vae: float, others: float) -> Mapping[str, float]:
    return _by_class(vae, *(others for _ in CLASSES[1:]))


W: Final = SharingModel(
    "W",
    "jobs of very different length, all can use a machine",
    work=_by_class(200.0, 423.0, 278.0, 104.0, 159.0),
    most=_vae_and_others(1.0, 1.0),
    framework_spread=0.30,
)
T: Final = SharingModel(
    "T",
    "most jobs use 0.3 of a machine at most",
    work=_by_class(200.0, 234.0, 190.0, 116.0, 143.0),
    most=_vae_and_others(1.0, 0.3),
    framework_spread=0.25,
)
E: Final = SharingModel(
    "E",
    "jobs of similar length, all can use a machine",
    work=_by_class(200.0, 305.0, 271.0, 205.0, 231.0),
    most=_vae_and_others(1.0, 1.0),
    framework_spread=0.25,
)
WI: Final = SharingModel(
    "WI",
    "as W, with a limit of 0.6 for most and interference",
    work=_by_class(180.0, 272.0, 221.0, 135.0, 167.0),
    most=_vae_and_others(1.0, 0.6),
    framework_spread=0.45,
    slowdown=0.1,
)
MODELS: Final[Mapping[str, SharingModel]] = {model.name: model for model in (W, T, E, WI)}


ITERATIONS: Final = 200
NOISE: Final = 0.003
"""Relative standard deviation of a reported loss."""
LENGTH_SPREAD: Final = 0.1
"""Largest relative deviation of a job's length from that of its class and framework."""
STEEPNESS_SPREAD: Final = 0.1
"""Largest change of the logarithm of the steepness."""
ESTIMATE_ERROR: Final = 0.15
"""Largest relative error of a predicted remaining work."""

_ARRIVALS, _CLASSES, _LENGTHS, _STEEPNESS, _NOISE, _ESTIMATES = range(6)
"""Random streams of a seed."""


@dataclass(frozen=True)
class Scenario:
    """A workload of the paper, or a similar one.

    Attributes:
        name: Short name.
        jobs: Number of jobs.
        hosts: Number of workers.
        window_seconds: Window of uniform arrivals; 0: arrivals every ``every_seconds``.
        every_seconds: Interval of arrivals without a window.
        mixed: Whether jobs are of all classes; else VAE only.
    """

    name: str
    jobs: int
    hosts: int
    window_seconds: float = 0.0
    every_seconds: float = 50.0
    mixed: bool = True

    @property
    def what(self) -> str:
        """Description for reports."""
        kind = "mixed" if self.mixed else "VAE"
        when = (
            f"in [0, {self.window_seconds:.0f}] s"
            if self.window_seconds
            else f"every {self.every_seconds:.0f} s"
        )
        return f"{self.jobs} {kind} {when}, {self.hosts} workers"

    @property
    def host_names(self) -> tuple[NodeName, ...]:
        """The workers."""
        return tuple(NodeName(f"w{i + 1}") for i in range(self.hosts))


FIXED: Final = Scenario("fix", 20, 4, mixed=False)
VAES: Final = Scenario("vae", 20, 4, 300.0, mixed=False)
IN_300: Final = Scenario("300", 20, 4, 300.0)
IN_600: Final = Scenario("600", 30, 4, 600.0)
IN_1200: Final = Scenario("1200", 50, 8, 1200.0)
PRINTED: Final = (FIXED, VAES, IN_300, IN_600, IN_1200)
"""The five scenarios of the paper."""
NEW: Final = (
    Scenario("a", 40, 4, 900.0),
    Scenario("b", 60, 8, 600.0),
    Scenario("c", 30, 4, 600.0, mixed=False),
    Scenario("d", 30, 4, 1800.0),
)
"""Four scenarios that were not used to choose parameters."""
_NUMBER: Final[Mapping[str, int]] = {s.name: i for i, s in enumerate((*PRINTED, *NEW))}


def tasks(
    scenario: Scenario, model: SharingModel, seed: int, noise: float = NOISE
) -> tuple[Task, ...]:
    """Return the jobs of a scenario in order of submission, placed round robin.

    The same seed gives the same arrivals, classes and draws in every model and with every noise.

    Args:
        scenario: Number, arrivals and classes.
        model: Lengths and sharing.
        seed: Of all draws.
        noise: Relative standard deviation of reported losses.
    """
    number, count = _NUMBER[scenario.name], scenario.jobs

    def rng(stream: int) -> np.random.Generator:
        return generator(seed, number, stream)

    arrivals = _arrivals(scenario, rng(_ARRIVALS))
    kinds = rng(_CLASSES).integers(len(CLASSES), size=count)
    frameworks = rng(_LENGTHS).choice((-1.0, 1.0), size=count)
    lengths = rng(_LENGTHS).spawn(1)[0].uniform(-LENGTH_SPREAD, LENGTH_SPREAD, count)
    steepness = np.exp(rng(_STEEPNESS).uniform(-STEEPNESS_SPREAD, STEEPNESS_SPREAD, count))
    noises = noise * rng(_NOISE).standard_normal((count, ITERATIONS))
    errors = rng(_ESTIMATES).uniform(-ESTIMATE_ERROR, ESTIMATE_ERROR, count)
    drawn: list[Task] = []
    for i in range(count):
        kind = CLASSES[int(kinds[i])] if scenario.mixed else VAE
        base = CURVES[kind]
        curve = replace(base, steepness=base.steepness * float(steepness[i]))
        spread = 1.0 + model.framework_spread * float(frameworks[i])
        drawn.append(
            Task(
                uid=Uid(f"job-{i + 1:03d}"),
                arrives_at=arrivals[i],
                work=model.work[kind] * spread * (1.0 + float(lengths[i])),
                host=scenario.host_names[i % scenario.hosts],
                curve=curve,
                reported=curve.reported(noises[i]),
                most=model.most[kind],
                estimate_ratio=1.0 + float(errors[i]),
            )
        )
    return tuple(drawn)


def _arrivals(scenario: Scenario, rng: np.random.Generator) -> Sequence[float]:
    if not scenario.window_seconds:
        return [i * scenario.every_seconds for i in range(scenario.jobs)]
    times: list[float] = np.sort(rng.uniform(0.0, scenario.window_seconds, scenario.jobs)).tolist()
    return times
