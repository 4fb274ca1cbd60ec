"""Tables and findings of a comparison."""

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Final

from simulator.comparison import verdicts
from simulator.comparison.comparing import Comparison, Seeded
from simulator.comparison.policies import POLICIES, REFERENCES, SPECIALISTS
from simulator.comparison.verdicts import MEASURES
from simulator.numbers import spread
from simulator.results import Cell, Outcome, Table
from simulator.seeds import HELD_OUT

ASSUMPTIONS: Final = (
    (
        "A seed fixes the window, the jobs kept and the errors of estimates; with one seed all "
        "policies get the same jobs and machines."
    ),
    "Speeds are known as if profiled; estimated lengths have the same error for all policies.",
    (
        "Jobs may be preempted or moved at a checkpoint, which costs only their pause; jobs "
        "without checkpoints are never preempted or moved."
    ),
    (
        "A job that never completes, or that OASiS rejects, counts as completing at the horizon: "
        "the last completion under any of the compared policies."
    ),
    (
        "spread, volcano, specon and count place gangs on the least allocated nodes; all others "
        "use the extender's own gang rule."
    ),
    (
        "ρ is time to completion divided by the time that the job takes alone with the workers it "
        "requests, not with 1/N of the cluster."
    ),
)


def outcome(
    comparison: Comparison, by_seed: Sequence[Seeded], command: str, notes: Sequence[str] = ()
) -> Outcome:
    """Return the tables, findings and series of a comparison."""
    seeds = [result.seed for result in by_seed]
    use = "held out" if seeds[0] >= HELD_OUT else "training"
    return Outcome(
        name="compare",
        title=f"Policies on {comparison.source.title}",
        source="ours; docs/compare.md",
        command=command,
        seeds=((use, seeds[0], seeds[-1]),),
        assumptions=(*ASSUMPTIONS, *notes),
        findings=tuple(findings(comparison, by_seed)),
        tables=tuple(tables(comparison, by_seed)),
        series={
            "policies": list(comparison.policies),
            "objectives": list(verdicts.objectives(by_seed, comparison.policies)),
            "front": list(verdicts.front(by_seed, comparison.policies)),
            "found": [
                {
                    "seed": result.seed,
                    "metrics": {
                        policy: {
                            name: m.value_of(result.found[policy]) for name, m in MEASURES.items()
                        }
                        for policy in comparison.policies
                    },
                }
                for result in by_seed
            ],
        },
    )


def tables(comparison: Comparison, by_seed: Sequence[Seeded]) -> Iterator[Table]:
    """Yield tables of times, value and fairness, moves and preemptions, and differences."""
    jobs, machines = (
        fmean(getattr(result, field) for result in by_seed) for field in ("jobs", "machines")
    )
    note = (
        f"{len(by_seed)} seeds, in the mean {jobs:.0f} jobs and {machines:.0f} machines; "
        "± is the standard deviation."
    )
    times = ("mean", "median", "p95", "p99", "makespan", "queueing")
    yield _table(comparison, by_seed, "Times", times, 0, note)
    yield _table(
        comparison,
        by_seed,
        "Value and fairness",
        ("value", "hits", "completed", "utilisation", "rho", "rho95"),
        3,
    )
    yield _table(
        comparison, by_seed, "What it took", ("migrations", "rescales", "preemptions", "lost"), 0
    )
    if "combined" in comparison.policies:
        yield _against(comparison, by_seed)


def _table(
    comparison: Comparison,
    by_seed: Sequence[Seeded],
    title: str,
    names: Sequence[str],
    digits: int,
    note: str = "",
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for policy in comparison.policies:
        cells: list[Cell] = [policy, "" if POLICIES[policy].ours else "theirs"]
        for name in names:
            values = verdicts.values(by_seed, policy, name)
            cells.append(spread(values) if values else None)
        rows.append(tuple(cells))
    head = ("policy", "whose", *(MEASURES[name].title for name in names))
    return Table(title, head, tuple(rows), digits, note)


def _against(comparison: Comparison, by_seed: Sequence[Seeded]) -> Table:
    """Return by how many percent ``combined`` beats each policy, with significance over seeds."""
    names = verdicts.objectives(by_seed, comparison.policies)
    rows: list[tuple[Cell, ...]] = []
    for policy in comparison.policies:
        if policy == "combined":
            continue
        cells: list[Cell] = [policy]
        cells += [_gain(by_seed, policy, name) for name in (*names, "p95", "rho")]
        cells.append("yes" if verdicts.dominates(by_seed, "combined", policy) else "no")
        cells.append("yes" if verdicts.dominates(by_seed, policy, "combined") else "no")
        rows.append(tuple(cells))
    head = (
        "combined against",
        *(f"{MEASURES[name].title} %" for name in (*names, "p95", "rho")),
        "dominates it",
        "dominated by it",
    )
    note = (
        "Percent by which combined is better, paired by seed, ± standard error; * is beyond two "
        "standard errors. Domination is in the means of value (where there is any), mean JCT and "
        "makespan."
    )
    return Table("combined against each", head, tuple(rows), 1, note)


def _gain(by_seed: Sequence[Seeded], policy: str, name: str) -> Cell:
    gap = verdicts.difference(by_seed, "combined", policy, name)
    base = verdicts.mean(by_seed, policy, name)
    if gap is None or not base:
        return None
    star = "*" if verdicts.clearly(gap) else ""
    return f"{100 * gap.mean / base:+.1f} ± {100 * gap.error / base:.1f}{star}"


def findings(comparison: Comparison, by_seed: Sequence[Seeded]) -> Iterator[str]:
    """Yield sentences that the numbers support."""
    policies = comparison.policies
    front = verdicts.front(by_seed, policies)
    names = verdicts.objectives(by_seed, policies)
    titles = ", ".join(MEASURES[name].title for name in names)
    yield f"No policy dominates {', '.join(front)} on {titles}."
    for name in names:
        rising = MEASURES[name].rising
        means = {p: verdicts.mean(by_seed, p, name) or 0.0 for p in policies}
        best = (max if rising else min)(policies, key=lambda p: means[p])
        digits = MEASURES[name].digits
        yield f"Best {MEASURES[name].title}: {best}, {means[best]:.{digits}f}."
    if "combined" in policies:
        yield from _about_combined(policies, by_seed, names)


def _about_combined(
    policies: Sequence[str], by_seed: Sequence[Seeded], names: Sequence[str]
) -> Iterator[str]:
    for group, kind in ((SPECIALISTS, "paper"), (REFERENCES, "reference")):
        for policy in group:
            if policy not in policies:
                continue
            signs = {
                name: verdicts.clearly(verdicts.difference(by_seed, "combined", policy, name))
                for name in names
            }
            won = [MEASURES[name].title for name, sign in signs.items() if sign > 0]
            lost = [MEASURES[name].title for name, sign in signs.items() if sign < 0]
            parts = [f"better in {', '.join(won)}"] if won else []
            parts += [f"worse in {', '.join(lost)}"] if lost else []
            verdict = "; ".join(parts) or "no difference beyond two standard errors"
            yield f"combined against {policy} ({kind}): {verdict}."
    by = [p for p in policies if p != "combined" and verdicts.dominates(by_seed, p, "combined")]
    yield f"combined is dominated by {', '.join(by) if by else 'no policy'}."
