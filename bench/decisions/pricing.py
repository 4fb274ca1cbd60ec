"""``python -m bench decisions``: time of a policy to decide about one job, by cluster size.

On the calibrated workload of the OASiS experiments. Beside the time it shows the cost of the coarse
search: how often a search in ten times as many steps decides otherwise, and its payoff.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np

from bench import results
from extender.core.parameters.pricing import AdmissionParameters, BoundsParameters, SlotParameters
from extender.core.pricing import admission, price_bounds, slots
from extender.core.pricing.admission import SlotState
from extender.core.pricing.training_job import TrainingJob
from simulator import seeds
from simulator.experiments.oasis import workload

JOBS_A_SERVER: Final = 2
"""Gives the paper's 200 jobs at 100 servers and 300 slots."""
STEPS: Final = 100
"""The arrival pattern has 75 steps; the horizon is 100 of them."""
REFERENCE: Final = AdmissionParameters(search=SlotParameters(most_units=3000))
SIZES: Final = ((100, 100), (100, 300), (100, 600), (200, 300), (400, 300), (600, 300), (600, 600))
"""Servers, half of them for workers, and slots."""


@dataclass(frozen=True)
class Row:
    """One policy on one cluster size, in milliseconds of CPU time per decision.

    ``equal_share`` of the decisions equal those of the search in 3000 steps on the same state, and
    payoffs are ``payoff_loss_percent`` below its payoffs; None where that does not apply.
    """

    policy: str
    servers: int
    slots: int
    decisions: int
    mean_ms: float
    median_ms: float
    p95_ms: float
    max_ms: float
    equal_share: float | None = None
    payoff_loss_percent: float | None = None


Measure = Callable[[int, int, int, bool], Row]
"""Servers, slots, number of seeds, whether to compare with 3000 steps → row."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--policy", choices=list(MEASURED), action="append", help="default: all")
    parser.add_argument("--servers", type=int, default=600, help="largest number measured")
    parser.add_argument("--slots", type=int, default=600, help="largest number measured")
    parser.add_argument("--seeds", type=int, default=2, help="workloads of each size")
    parser.add_argument("--times-only", action="store_true", help="skip the search in 3000 steps")
    parser.add_argument("--json", type=Path, help="write the rows to this file")


def run(options: argparse.Namespace) -> int:
    """Measure, print a table, return the exit code."""
    rows = []
    print(
        f"{'policy':10} {'servers':>7} {'slots':>5} {'decisions':>9}   mean median    p95    max ms"
    )
    for name in options.policy or MEASURED:
        for servers, horizon in SIZES:
            if servers <= options.servers and horizon <= options.slots:
                row = MEASURED[name](servers, horizon, options.seeds, not options.times_only)
                rows.append(row)
                print(_line(row), flush=True)
    if options.json:
        results.write(options.json, [asdict(row) for row in rows])
    return 0


def _line(row: Row) -> str:
    times = (row.mean_ms, row.median_ms, row.p95_ms, row.max_ms)
    line = f"{row.policy:10} {row.servers:7} {row.slots:5} {row.decisions:9} " + " ".join(
        f"{ms:6.2f}" for ms in times
    )
    if row.equal_share is None or row.payoff_loss_percent is None:
        return line
    return f"{line}  {row.equal_share:7.2%} equal, {row.payoff_loss_percent:.3f} % payoff lost"


def world(servers: int, horizon: int, seed: int) -> tuple[SlotState, list[TrainingJob]]:
    """Return an empty cluster with prices from another sample of jobs, and the jobs to come."""
    setting = workload.Setting(
        jobs=JOBS_A_SERVER * servers,
        horizon=horizon,
        worker_servers=servers // 2,
        server_servers=servers // 2,
        step_slots=horizon // STEPS,
    )
    drawn = workload.draw(setting, seeds.generator(seed))
    by = slots.units(drawn.cluster.worker_capacity, drawn.cluster.server_capacity)
    past = workload.draw(setting, seeds.generator(seed, 1)).jobs
    cluster = slots.normalised(drawn.cluster)
    bounds = price_bounds.price_bounds(
        [slots.in_units(j, by) for j in past], cluster, BoundsParameters()
    )
    return admission.empty_state(cluster, bounds), [slots.in_units(job, by) for job in drawn.jobs]


def oasis(servers: int, horizon: int, many: int, compare: bool) -> Row:  # noqa: FBT001 - as ``Measure``
    """Measure Algorithms 1 and 2: the decision, without accepting it."""
    decided = [
        decision
        for seed in seeds.seeds(seeds.IN_SAMPLE, many)
        for decision in _decisions(*world(servers, horizon, seed), compare)
    ]
    times = [decision.milliseconds for decision in decided]
    row = timed("oasis", servers, horizon, times)
    if not compare:
        return row
    equal = sum(decision.admitted == decision.finer_admitted for decision in decided) / len(decided)
    finer = sum(decision.finer_payoff for decision in decided)
    loss = 100.0 * (1.0 - sum(decision.payoff for decision in decided) / finer)
    return Row(**{**asdict(row), "equal_share": equal, "payoff_loss_percent": loss})


MEASURED: Final[Mapping[str, Measure]] = {"oasis": oasis}
"""Name → measurement."""


def timed(policy: str, servers: int, horizon: int, milliseconds: Sequence[float]) -> Row:
    """Return the row of the decisions."""
    mean, median, p95, most = (
        np.mean(milliseconds),
        *np.quantile(milliseconds, [0.5, 0.95]),
        max(milliseconds),
    )
    return Row(
        policy, servers, horizon, len(milliseconds), float(mean), float(median), float(p95), most
    )


@dataclass(frozen=True)
class _Decided:
    milliseconds: float
    admitted: bool
    payoff: float
    finer_admitted: bool
    finer_payoff: float


def _decisions(
    state: SlotState,
    jobs: Sequence[TrainingJob],
    compare: bool,  # noqa: FBT001 - as ``Measure``
) -> Iterator[_Decided]:
    params = AdmissionParameters()
    for job in jobs:
        start = time.process_time()
        decision = admission.offer(job, state, params)
        milliseconds = 1000.0 * (time.process_time() - start)
        finer = admission.offer(job, state, REFERENCE) if compare else decision
        state.accept(job, decision)
        yield _Decided(
            milliseconds, decision.admitted, decision.payoff, finer.admitted, finer.payoff
        )
