"""The names of the experiments, and the modules that run them.

A module is loaded when it is asked for: scipy and matplotlib take a second.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, cast

from extender.core.parameters.combined import CoreParameters
from simulator.results import Outcome


@dataclass(frozen=True)
class Options:
    """What a run of an experiment is told.

    Attributes:
        seeds: How many paired seeds; None: as many as the experiment needs for what it says.
        processes: How many at once; None: one a core.
        parameters: The policies' parameters, of the same file as the extender's.
    """

    seeds: int | None = None
    processes: int | None = None
    parameters: CoreParameters = CoreParameters()  # noqa: RUF009 - frozen


class Experiment(Protocol):
    """A module of this folder that reproduces one table or figure."""

    TITLE: str

    def run(self, options: Options) -> Outcome:
        """Run it; the same options give the same outcome but for ``seconds``."""
        ...

    def draw(self, outcome: Outcome, path: Path) -> None:
        """Draw what was found into an SVG file, from the outcome alone."""
        ...


EXPERIMENTS: Final[Mapping[str, str]] = {
    "oasis-utility": "oasis_utility",
    "oasis-timeliness": "oasis_timeliness",
    "oasis-optimum": "oasis_optimum",
    "oasis-bounds": "oasis_bounds",
    "oasis-testbed": "oasis_testbed",
    "oasis-steps": "oasis_steps",
    "cps-jobs": "cps_jobs",
    "cps-tasks": "cps_tasks",
    "cps-group": "cps_group",
    "drs-scaling": "drs_scaling",
    "drs-ablation": "drs_ablation",
    "specon-workloads": "specon_workloads",
    "specon-settings": "specon_settings",
    "specon-distribution": "specon_distribution",
    "specon-options": "specon_options",
}
"""Name → module of this folder."""


def load(name: str) -> Experiment:
    """Return an experiment.

    Raises:
        KeyError: There is none of that name.
    """
    module = importlib.import_module(f"simulator.experiments.{EXPERIMENTS[name]}")
    return cast("Experiment", module)
