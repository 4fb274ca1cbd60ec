"""Repeats a run for many seeds, on all cores.

A seed drives all draws, so that two policies with one seed get the same jobs on the same nodes:
their difference is paired.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final, TypeVar

import numpy as np

from simulator import progress

T = TypeVar("T")

IN_SAMPLE: Final = 1
"""First of the seeds that may be used to choose parameters."""
HELD_OUT: Final = 1001
"""First of the seeds that are not used before all parameters are chosen."""


def seeds(first: int, count: int) -> tuple[int, ...]:
    """Return ``count`` seeds in a row."""
    return tuple(range(first, first + count))


def generator(seed: int, *stream: int) -> np.random.Generator:
    """Return a random generator for one purpose; streams of one seed are independent."""
    return np.random.default_rng([seed, *stream])


def over(
    run: Callable[[int], T], chosen: Sequence[int], what: str, processes: int | None = None
) -> list[T]:
    """Return ``run(seed)`` for each seed, in order.

    Args:
        run: A function that can be pickled (of a module, or a ``functools.partial`` of one).
        chosen: The seeds.
        what: Title of the progress bar.
        processes: Parallel processes; None: one per core, 1: in this process.
    """
    many = processes or os.cpu_count() or 1
    if many == 1 or len(chosen) == 1:
        return list(progress.shown(map(run, chosen), what, len(chosen)))
    with ProcessPoolExecutor(many, mp_context=get_context("spawn")) as pool:
        return list(progress.shown(pool.map(run, chosen), what, len(chosen)))
