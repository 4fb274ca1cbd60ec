"""Runs several policies on the same workloads, one workload per seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from extender.core.parameters.combined import PUBLISHED, CoreParameters
from simulator.cluster.run import simulate
from simulator.comparison import metrics, windows
from simulator.comparison.deciders.combined import CombinedParameters
from simulator.comparison.metrics import Metrics
from simulator.comparison.mixed import mixed
from simulator.comparison.policies import POLICIES, Setting
from simulator.comparison.windows import WindowSettings
from simulator.seeds import IN_SAMPLE, over
from simulator.traces.faults import Faults
from simulator.traces.opening import open_trace
from simulator.workload import Workload


class Source(Protocol):
    """A source of workloads, one per seed."""

    @property
    def title(self) -> str:
        """Title of the source for reports."""
        ...

    def case(self, seed: int) -> Workload:
        """Return the workload of a seed."""
        ...


@dataclass(frozen=True)
class TraceSource:
    """Windows of a trace.

    Attributes:
        path: The trace.
        known_as: Its format; empty: detected.
        skip: Whether bad lines are left out.
        window: Size and start of a window.
    """

    path: Path
    known_as: str = ""
    skip: bool = False
    window: WindowSettings = field(default_factory=WindowSettings)

    @property
    def title(self) -> str:
        """The names of the folder and the file."""
        return f"{self.path.parent.name}/{self.path.name}"

    def case(self, seed: int) -> Workload:
        """Return the window of a seed."""
        trace = open_trace(self.path, self.known_as, Faults(skip=self.skip))
        return windows.sample(trace, self.window, seed)


@dataclass(frozen=True)
class MixedSource:
    """The generated mixed workload (``mixed``)."""

    jobs: int = 120
    seconds: float = 7200.0

    @property
    def title(self) -> str:
        """Title of the source."""
        return "mixed (generated)"

    def case(self, seed: int) -> Workload:
        """Return the workload of a seed."""
        return mixed(seed, self.jobs, self.seconds)


@dataclass(frozen=True)
class Comparison:
    """Policies and workloads to compare.

    Attributes:
        source: Of the workloads.
        policies: Names in ``POLICIES``.
        error: Relative error of the estimates.
        engine: Parameters from the extender's settings file.
        combined: Parameters of ``combined``.
    """

    source: Source
    policies: tuple[str, ...]
    error: float = 0.15
    engine: CoreParameters = PUBLISHED
    combined: CombinedParameters = field(default_factory=CombinedParameters)


class Seeded(Struct, frozen=True):
    """Results of one seed: size of its workload, and metrics by policy."""

    seed: int
    jobs: int
    machines: int
    found: Mapping[str, Metrics]


def run(comparison: Comparison, seeds: Sequence[int], processes: int | None = None) -> list[Seeded]:
    """Run all policies on the workloads of all seeds."""
    return over(partial(run_seed, comparison), seeds, comparison.source.title, processes)


def run_seed(comparison: Comparison, seed: int) -> Seeded:
    """Run all policies on the workload of one seed."""
    workload = comparison.source.case(seed)
    setting = Setting(
        seed=seed,
        error=comparison.error,
        history=comparison.source.case(IN_SAMPLE).jobs,
        engine=comparison.engine,
        combined=comparison.combined,
    )
    misstated = setting.estimates.misstated(workload)
    runs = {}
    for name in comparison.policies:
        policy = POLICIES[name]
        given = misstated if policy.misstated else workload
        runs[name] = simulate(given, policy.make(setting))
    end = metrics.horizon(list(runs.values()))
    by_policy = {name: metrics.measure(workload, run_, end) for name, run_ in runs.items()}
    return Seeded(seed, len(workload.jobs), len(workload.machines), by_policy)
