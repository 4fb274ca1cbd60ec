"""The experiments by name, and their modules.

A module is imported only to run it: scipy and matplotlib take a second.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, cast

from extender.core.parameters.combined import PUBLISHED, CoreParameters
from simulator.results import Outcome


@dataclass(frozen=True)
class Options:
    """Options of a run of an experiment.

    Attributes:
        seeds: Number of paired seeds; None: as many as the findings need.
        processes: Parallel processes; None: one per core.
        parameters: The policies' parameters, from the extender's settings file.
    """

    seeds: int | None = None
    processes: int | None = None
    parameters: CoreParameters = PUBLISHED


class Experiment(Protocol):
    """A module of this package that reproduces one table or figure."""

    TITLE: str

    def run(self, options: Options) -> Outcome:
        """Run it; the same options give the same outcome except ``seconds``."""
        ...

    def draw(self, outcome: Outcome, path: Path) -> None:
        """Draw the outcome into an SVG file."""
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
"""Name → module of this package."""


def load(name: str) -> Experiment:
    """Return an experiment.

    Raises:
        KeyError: Unknown name.
    """
    module = importlib.import_module(f"simulator.experiments.{EXPERIMENTS[name]}")
    return cast("Experiment", module)
