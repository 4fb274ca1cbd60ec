"""The same workload in the simulator, with the times that starting and leaving take live."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.orders import scenario, testbed
from bench.orders.outcome import SIMULATED, JobOutcome, Outcome
from bench.orders.scenario import MixedJob
from extender.core.parameters.queue import Order
from simulator.baselines.estimates import Estimates
from simulator.cluster.decider import Decider
from simulator.cluster.engine_decider import EngineDecider
from simulator.cluster.run import simulate
from simulator.comparison.deciders.service import Service


@dataclass(frozen=True)
class Delays:
    """What the simulator's jobs lose as the live ones do, in seconds.

    Attributes:
        start: From a place on a node to the first step.
        end: From the last step until the place is free.
    """

    start: float = 0.0
    end: float = 0.0


def run(order: Order, seed: int, jobs: Sequence[MixedJob], delays: Delays) -> Outcome:
    """Run the workload of a seed under an order.

    Raises:
        LookupError: A job did not complete.
    """
    leaving = delays.end + testbed.SEARCH_SECONDS
    workload = scenario.workload(
        tuple(jobs), start_seconds=delays.start, pause_seconds=leaving + delays.start
    )
    found = simulate(workload, _decider(order, seed, leaving), settle_seconds=delays.end)
    return Outcome(
        how=SIMULATED,
        order=order.value,
        seed=seed,
        jobs=tuple(
            JobOutcome(
                name=record.name,
                submitted=round(record.submitted_at, 2),
                completed=round(_completed(record.name, record.completed_at), 2),
                worth=worth(job, record.completion_seconds or 0.0),
                parkings=record.preemptions,
            )
            for job, record in zip(jobs, found.jobs, strict=True)
        ),
    )


def worth(job: MixedJob, seconds: float) -> tuple[float, float] | None:
    """Return what a completion after so many seconds is worth, and what one at once would be."""
    curve = job.simulated.worth
    if curve is None:
        return None
    return round(curve.of(seconds), 3), round(curve.of(job.seconds), 3)


def _completed(name: str, at: float | None) -> float:
    if at is None:
        raise LookupError(f"{name} does not complete in the simulator")
    return at


def _decider(order: Order, seed: int, leaving_seconds: float) -> Decider:
    parameters = testbed.parameters(order)
    if order is not Order.SERVICE:
        return EngineDecider(parameters)
    return Service(
        EngineDecider(parameters, rests=False),
        Estimates(seed, 0.0),
        interval_seconds=testbed.SEARCH_SECONDS,
        leaving_seconds=leaving_seconds,
    )
