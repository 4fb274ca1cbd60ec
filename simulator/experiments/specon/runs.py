"""Many cases over many seeds, and the columns of tables made of them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from extender.engine.replaying import parameters_hash
from simulator import seeds
from simulator.experiments.registry import Options
from simulator.experiments.specon.measures import Case, Measures, measured
from simulator.numbers import Spread, spread
from simulator.results import Beside, Cell

SEEDS: Final = 60
SOURCE: Final = "Mao et al., IEEE Systems Journal 2021, arXiv 2010.11307"
ASSUMPTIONS: Final = (
    (
        "A worker is a unit of CPU that the jobs on it share equally, each up to its own limit; a "
        "job is an amount of work. The paper gives no job lengths. Model W (all can use a "
        "whole worker, lengths spread over 4:1) was fitted to the paper's levels and gains, so its "
        "agreement is a fit; T (most jobs use 0.3 of a worker) to its levels only, so its gains "
        "are predictions."
    ),
    "The two frameworks differ by ±30 % (W) or ±25 % (T) in work, one job from another by ±10 %.",
    (
        "The loss falls exponentially: steepness 5.2 (VAE), 19.6 (Bi-RNN), 11.5 (GRU) as figure 1 "
        "has it, 15 for RNN and dynamic RNN; ±10 %. A VAE's ends at 0.64 of its first value, the "
        "others' at 0.1; reported after each of 200 iterations with a relative noise of 0.003."
    ),
    "Growth is relative to the previous value; a tick without a new value does not count.",
    "A move stops a job for 5 s, and jobs are placed round robin, as in the paper.",
    "Only the rules themselves limit moves: no budget, no rest period, no test of the gain.",
)
"""Of the model; what an experiment assumes beyond it stands in the experiment."""

VARIANTS: Final = (
    "B is Algorithms 1 to 3 with their mistakes corrected; where the paper's text and its example "
    "differ, as in the example (a request as soon as a job is converged, one faster peer is "
    "enough). S is the same as the pseudo-code has it."
)
Row = tuple[Cell, ...]


class Columns:
    """The measures of cases over seeds.

    Attributes:
        used: First and last seed.
        digest: Of the extender's parameters.
    """

    def __init__(
        self,
        cases: Mapping[str, Case],
        options: Options,
        what: str,
        *,
        first: int = seeds.IN_SAMPLE,
        count: int = SEEDS,
    ) -> None:
        chosen = seeds.seeds(first, options.seeds or count)
        run = partial(measured, tuple(cases.values()))
        by_seed = seeds.over(run, chosen, what, options.processes)
        self.used = (chosen[0], chosen[-1])
        self.digest = parameters_hash(options.parameters)
        self._found = {name: [row[i] for row in by_seed] for i, name in enumerate(cases)}

    def of(self, case: str) -> Sequence[Measures]:
        """Return a case's measures, in the order of the seeds."""
        return self._found[case]

    def values(self, case: str, field: str) -> list[float]:
        """Return one field of a case, in the order of the seeds."""
        return [float(getattr(one, field)) for one in self._found[case]]

    def spread(self, case: str, field: str) -> Spread:
        """Return one field of a case over the seeds."""
        return spread(self.values(case, field))

    def beside(self, case: str, field: str, paper: float | None) -> Beside:
        """Return the same beside the printed number."""
        return Beside(self.spread(case, field), paper)

    def reached(self, case: str, field: str, paper: float) -> float:
        """Return on how many % of the seeds a field is at least the printed number."""
        found = self.values(case, field)
        return 100.0 * sum(value >= paper for value in found) / len(found)
