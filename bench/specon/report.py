"""Report of all runs, as Markdown for the page."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from bench.specon.outcome import PARTS, Moved, Outcome

NONE: Final = "none"
POLICIES: Final = (NONE, "specon", "count")

_COLUMNS: Final[dict[str, Callable[[Outcome], float]]] = {
    "mean completion": lambda one: one.mean_seconds,
    "makespan": lambda one: one.makespan_seconds,
    "time to 95 % of the loss": lambda one: one.mean_converged_seconds,
}


def lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the whole report."""
    yield from _policies(outcomes)
    yield ""
    yield from _seeds(outcomes)
    yield ""
    yield from _moves(outcomes)


def seeds(outcomes: Sequence[Outcome]) -> list[int]:
    """Return the seeds of which every policy has a run."""
    by_policy = {
        policy: {outcome.seed for outcome in outcomes if outcome.policy == policy}
        for policy in POLICIES
    }
    return sorted(set.intersection(*by_policy.values()))


def gain_percent(before: float, after: float) -> float:
    """Return by how many percent a time became shorter."""
    return 100.0 * (1.0 - after / before)


def earlier_percent(before: Outcome, after: Outcome) -> float:
    """Return the percentage of jobs that ended earlier than without moves."""
    pairs = zip(before.jobs, after.jobs, strict=True)
    earlier = sum(b.completed_seconds < a.completed_seconds for a, b in pairs)
    return 100.0 * earlier / len(before.jobs)


def _policies(outcomes: Sequence[Outcome]) -> Iterator[str]:
    header = [*_COLUMNS, "jobs earlier", "moves a run", "CPU delivered"]
    yield _row(["policy", *header])
    yield _row(["---"] * (len(header) + 1))
    common = seeds(outcomes)
    for policy in POLICIES:
        runs = [_of(outcomes, policy, seed) for seed in common]
        bases = [_of(outcomes, NONE, seed) for seed in common]
        cells = [_times(bases, runs, column) for column in _COLUMNS.values()]
        earlier = [earlier_percent(b, r) for b, r in zip(bases, runs, strict=True)]
        cells.append("" if policy == NONE else f"{statistics.mean(earlier):.0f} %")
        cells.append(f"{statistics.mean(len(run.completed_moves()) for run in runs):.1f}")
        cells.append(f"{100 * statistics.mean(run.delivered_ratio for run in runs):.0f} %")
        yield _row([policy, *cells])


def _times(
    bases: Sequence[Outcome], runs: Sequence[Outcome], column: Callable[[Outcome], float]
) -> str:
    mean = statistics.mean(column(run) for run in runs)
    if runs == bases:
        return f"{mean:.1f} s"
    gains = [gain_percent(column(b), column(r)) for b, r in zip(bases, runs, strict=True)]
    spread = f" ± {statistics.stdev(gains):.1f}" if len(gains) > 1 else ""
    return f"{mean:.1f} s ({statistics.mean(gains):+.1f}{spread} %)"


def _seeds(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the table of single runs, which shows the spread."""
    columns = ["seed", "policy", *_COLUMNS, "moves", "aborted or failed", "load", "CPU delivered"]
    yield _row(columns)
    yield _row(["---"] * len(columns))
    for seed in seeds(outcomes):
        for policy in POLICIES:
            outcome = _of(outcomes, policy, seed)
            done = len(outcome.completed_moves())
            cells = [f"{column(outcome):.1f} s" for column in _COLUMNS.values()]
            cells += [str(done), str(len(outcome.moves) - done), f"{outcome.load:.1f}"]
            yield _row([str(seed), policy, *cells, f"{100 * outcome.delivered_ratio:.0f} %"])


def _moves(outcomes: Sequence[Outcome]) -> Iterator[str]:
    moves = [move for outcome in outcomes for move in outcome.completed_moves()]
    if not moves:
        yield "Nothing was moved."
        return
    yield _row(["part of a move", "mean", "longest"])
    yield _row(["---"] * 3)
    for part in PARTS:
        yield _span(part, [move.parts[part] for move in moves])
    stood = [s for outcome in outcomes for job in outcome.jobs for s in job.standstills]
    yield _span("no step was done", stood)
    jobs = [job for outcome in outcomes for job in outcome.jobs]
    yield ""
    yield f"- moves completed: {len(moves)}; resumed at the saved step: {_resumed(moves)}"
    repeated, missing = (
        sum(job.repeated_steps for job in jobs),
        sum(job.missing_steps for job in jobs),
    )
    yield f"- of {sum(job.steps for job in jobs)} steps done twice: {repeated}; left out: {missing}"
    yield f"- second copies of a job: {sum(job.copies for job in jobs)}"


def _resumed(moves: Sequence[Moved]) -> str:
    with_step = [move for move in moves if move.resumed_step is not None]
    right = sum(move.resumed_step == move.acked_step for move in with_step)
    ended = len(moves) - len(with_step)
    return f"{right} of {len(with_step)}" + (
        f" ({ended} ended before they were asked)" if ended else ""
    )


def _span(name: str, seconds: Sequence[float]) -> str:
    return _row([name, f"{statistics.mean(seconds):.2f} s", f"{max(seconds):.2f} s"])


def _of(outcomes: Sequence[Outcome], policy: str, seed: int) -> Outcome:
    return next(outcome for outcome in outcomes if (outcome.policy, outcome.seed) == (policy, seed))


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
