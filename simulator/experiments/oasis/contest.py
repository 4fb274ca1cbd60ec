"""The same jobs for everybody, seed by seed."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from simulator import seeds
from simulator.experiments.oasis.contestants import RUNNERS
from simulator.experiments.oasis.workload import Setting, draw
from simulator.experiments.registry import Options
from simulator.models.slot_world import SlotRun, SlotWorkload
from simulator.numbers import Spread, spread

SEEDS: Final = 40
_JOBS: Final = 1
_PAST: Final = 2

Runs = Mapping[str, Sequence[Sequence[SlotRun]]]
"""Name → setting → seed → run."""


def workload(seed: int, setting: Setting) -> SlotWorkload:
    """Return the jobs and servers of a seed."""
    return draw(setting, seeds.generator(seed, _JOBS, setting.jobs))


def past(seed: int, setting: Setting) -> SlotWorkload:
    """Return another sample of such jobs and servers: what was known before."""
    return draw(setting, seeds.generator(seed, _PAST, setting.jobs))


def meet(
    settings: Sequence[Setting],
    names: Sequence[str],
    chosen: Sequence[int],
    what: str,
    options: Options,
) -> Runs:
    """Run everybody on every setting and seed."""
    one = partial(_one, tuple(settings), tuple(names), options)
    found = seeds.over(one, chosen, what, options.processes)
    return {
        name: [[runs[at][name] for runs in found] for at in range(len(settings))] for name in names
    }


def _one(
    settings: tuple[Setting, ...], names: tuple[str, ...], options: Options, seed: int
) -> list[dict[str, SlotRun]]:
    found = []
    for setting in settings:
        jobs, before = workload(seed, setting), past(seed, setting)
        found.append({name: RUNNERS[name](jobs, before, options.parameters) for name in names})
    return found


def utilities(runs: Sequence[SlotRun]) -> Spread:
    """Return the total utility over seeds."""
    return spread(run.utility for run in runs)


def ratios(above: Sequence[SlotRun], below: Sequence[SlotRun]) -> Spread | None:
    """Return the ratio of two total utilities, seed by seed, over the seeds both have.

    Seeds with which the lower one reached nothing are left out; None where those are all.
    """
    pairs = zip(above, below, strict=False)
    found = [ours.utility / theirs.utility for ours, theirs in pairs if theirs.utility > 0]
    return spread(found) if found else None


def listed(values: Iterable[Spread | float | None]) -> str:
    """Return means as a sentence needs them."""
    means = (value.mean if isinstance(value, Spread) else value for value in values)
    return ", ".join("-" if mean is None else f"{mean:.2f}" for mean in means)


def best(rivals: Sequence[Sequence[SlotRun]]) -> list[SlotRun]:
    """Return, seed by seed, the best run of several rivals, over the seeds all have."""
    found = zip(*rivals, strict=False)
    return [max(runs, key=lambda run: run.utility) for runs in found]
