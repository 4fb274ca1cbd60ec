"""The same run for many seeds, on all cores, in the order of the seeds.

A seed drives everything that is drawn, so that two policies with one seed meet the same jobs on the
same nodes: their difference is paired.
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
"""First seed of those that parameters may be chosen by."""
HELD_OUT: Final = 1001
"""First seed of those that nobody may look at before all parameters are chosen."""


def seeds(first: int, count: int) -> tuple[int, ...]:
    """Return ``count`` seeds in a row."""
    return tuple(range(first, first + count))


def generator(seed: int, *stream: int) -> np.random.Generator:
    """Return dice of their own for one purpose: streams of one seed do not disturb each other."""
    return np.random.default_rng([seed, *stream])


def over(
    run: Callable[[int], T], chosen: Sequence[int], what: str, processes: int | None = None
) -> list[T]:
    """Return ``run(seed)`` for each seed, in order.

    Args:
        run: A function that can be pickled (of a module, or a ``functools.partial`` of one).
        chosen: The seeds.
        what: For the bar.
        processes: How many at once; None: one a core, 1: in this process.
    """
    many = processes or os.cpu_count() or 1
    if many == 1 or len(chosen) == 1:
        return list(progress.shown(map(run, chosen), what, len(chosen)))
    with ProcessPoolExecutor(many, mp_context=get_context("spawn")) as pool:
        return list(progress.shown(pool.map(run, chosen), what, len(chosen)))
