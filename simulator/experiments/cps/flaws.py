"""Two weaknesses of CPS as printed: arrivals reverse the order, and small jobs starve."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import BackfillParameters, KeepsRoom, PriorityParameters
from extender.core.queue import order
from extender.core.queue.order import PAPER_SECTION_3, Candidate
from shared.model import JobKey, Uid
from simulator import seeds
from simulator.cluster.engine_decider import EngineDecider
from simulator.cluster.run import simulate
from simulator.experiments.cps import live
from simulator.results import Table
from simulator.workload import Job, Workload

_EXAMPLE: Final = replace(PAPER_SECTION_3, expansion=100.0)
"""Weights of Sect. 3.2, with k' = 100 for readable values of V."""
_DRAWS: Final = 10_000
_HOURS: Final = 12
_RUN_SECONDS: Final = 600.0
_LARGE: Final = 4
"""Workers of the large jobs, which fill the node."""
_WAIT_SECONDS: Final = 3600.0
_MINUTES: Final = 60.0
_CPU: Final = 1


def reversal(params: CoreParameters) -> Table:
    """Return a table of V of two waiting jobs, alone and after a third arrives."""
    a, b = _candidate("A", 5, 10, 6), _candidate("B", 5, 3, 2)
    c, d = _candidate("C", 5, 6, 10), _candidate("D", 9, 1, 6, class_value=1000)
    rows = []
    for name, more in {"A and B": (), "and C": (c,), "and D": (d,)}.items():
        values = {value.job: value.v for value in order.cps_values([a, b, *more], _EXAMPLE, 0.0)}
        first = {True: "A", False: "B"}[values[a.job] > values[b.job]]
        leads = "equal" if values[a.job] == values[b.job] else f"{first} first"
        rows.append((name, values[a.job], values[b.job], leads))
    drawn = _reversed_share(params.priority)
    return Table(
        "A job that arrives can reverse the order of two others: V of A and B",
        ("in the queue", "A", "B", "order"),
        tuple(rows),
        digits=1,
        note="A has u 5, L 10 min, m 6; B u 5, L 3 min, m 2; C u 5, L 6 min, m 10, all np; D u 9, "
        "hp, L 1 min, m 6. With the weights of the paper's Sect. 3.2, k' = 100. Of "
        f"{_DRAWS} pairs of jobs with u 1 to 10, L 1 to 60 min, m 1 to 16 and one of the three "
        f"classes, drawn at random, {drawn:.1f} % are in one order beside a third such job and "
        "in the other order beside another third (default weights).",
    )


def ageing(params: CoreParameters) -> Table:
    """Return a table of the wait of a small job beside a stream of large ones."""
    return Table(
        "A small job beside a stream of large ones: minutes until it starts",
        ("rule", "small job", "large jobs, mean"),
        tuple((rule, *_waits(rule, params)) for rule in _RULES),
        digits=1,
        note=f"One node that a job with {_LARGE} workers fills; one such job comes every 10 "
        f"minutes for {_HOURS} hours and runs 10 minutes; the small one has 1 worker and comes "
        "first but for one. All have equal u and b. Where a maximum wait counts it is 60 min.",
    )


def findings(params: CoreParameters) -> Iterator[str]:
    """Yield the findings of both tables."""
    yield (
        "Min-max normalisation makes the order of two waiting jobs depend on a third: "
        f"{_reversed_share(params.priority):.1f} % of random pairs are in one order beside one "
        "third job and in the other beside another. The extender computes V as printed."
    )
    printed, aged, kept = (_waits(rule, params)[0] for rule in _RULES)
    yield (
        f"As printed the small job waits {printed:.0f} minutes, until the stream ends; with "
        f"ageing {aged:.0f}, with the extender's default (a job whose maximum wait is over goes "
        f"first) {kept:.0f}."
    )


_RULES: Final[Mapping[str, tuple[bool, float | None]]] = {
    "as printed: no ageing, nothing else": (False, None),
    "ageing: L shrinks while the job waits": (True, _WAIT_SECONDS),
    "no ageing, the maximum wait is kept (default)": (False, _WAIT_SECONDS),
}
"""Rules: whether V ages, and the maximum wait of all jobs."""


@cache
def _waits(rule: str, params: CoreParameters) -> tuple[float, float]:
    """Return the wait of the small job and the mean wait of the others, in minutes."""
    ages, max_wait = _RULES[rule]
    params = replace(
        params,
        priority=replace(params.priority, ageing=ages),
        waiting=BackfillParameters(default_max_wait_seconds=None, keeps_room=KeepsRoom.OVERDUE),
    )
    run = simulate(_stream(max_wait), EngineDecider(params))
    waits = {record.name: (record.queueing_seconds or 0.0) / _MINUTES for record in run.jobs}
    small = waits.pop("small")
    return small, sum(waits.values()) / len(waits)


def _stream(max_wait: float | None) -> Workload:
    count = int(_HOURS * 3600 / _RUN_SECONDS)
    comes = [0.0, *(i * _RUN_SECONDS - _RUN_SECONDS / 2 for i in range(1, count))]
    large = [_running(f"large-{i:03}", at, _LARGE, max_wait) for i, at in enumerate(comes)]
    jobs = (large[0], _running("small", 1.0, 1, max_wait), *large[1:])
    return Workload(jobs, live.machines(1, _LARGE * _CPU), "made up")


def _running(name: str, at: float, workers: int, max_wait: float | None) -> Job:
    return replace(
        live.job(name, _CPU, workers),
        namespace="default",
        submitted_at=at,
        work=workers * _RUN_SECONDS,
        expected_seconds=_RUN_SECONDS,
        max_wait_seconds=max_wait,
    )


@cache
def _reversed_share(params: PriorityParameters) -> float:
    """Return the percentage of random pairs whose order depends on which third job is present."""
    rng = seeds.generator(seeds.IN_SAMPLE, 1)
    turned = 0
    for _ in range(_DRAWS):
        drawn = [
            _candidate(
                str(i),
                int(rng.integers(1, 11)),
                int(rng.integers(1, 61)),
                int(rng.integers(1, 17)),
                class_value=int(rng.choice([-1, 0, 1000])),
            )
            for i in range(4)
        ]
        pair, third, other = drawn[:2], drawn[2], drawn[3]
        turned += _sign([*pair, third], params) * _sign([*pair, other], params) < 0
    return 100.0 * turned / _DRAWS


def _sign(jobs: list[Candidate], params: PriorityParameters) -> int:
    """Return 1 if the first job has the larger V of the first two, -1 if the second, 0: equal."""
    values = {value.job: value.v for value in order.cps_values(jobs, params, 0.0)}
    first, second = values[jobs[0].job], values[jobs[1].job]
    return (first > second) - (first < second)


def _candidate(name: str, u: int, minutes: int, m: int, class_value: int = 0) -> Candidate:
    return Candidate(
        job=JobKey(name),
        uid=Uid(name),
        created_at=0.0,
        user_priority=u,
        class_value=class_value,
        max_wait_seconds=minutes * _MINUTES,
        size=m,
    )
