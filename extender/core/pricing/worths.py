"""Between which prices machines cost, learned from the jobs that were offered so far."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from extender.core.parameters.pricing import PriceBoundRule
from extender.core.pricing import price_bounds, slot_jobs
from extender.core.pricing.history import History
from extender.core.pricing.inputs import Sight
from extender.core.pricing.machines import Machines
from extender.core.pricing.price_bounds import Bounds
from extender.core.pricing.training_job import TrainingJob
from extender.core.records.slot_plan import Asked
from shared.model import Uid

LEAST_PAST: Final = 8
"""With fewer jobs a quantile says nothing: then idle machines are nearly free (``kappa``)."""


def of(history: History, present: Mapping[Uid, Asked], seen: Sight) -> Bounds:
    """Return the bounds by past jobs and those that are there now; each counts once.

    Args:
        history: Past jobs.
        present: Jobs that are there, by their owners.
        seen: The machines, and by which rule.
    """
    machines, slot_seconds = seen.machines, seen.slot_seconds
    params = seen.params.price_bounds
    known = {job.uid: job.asked for job in history.jobs}
    jobs = list(_jobs({**present, **known}.values(), machines, slot_seconds))
    if not jobs:
        nothing = np.full(len(machines.resources), price_bounds.FREE)
        return Bounds(nothing, nothing + 1.0, nothing, nothing + 1.0)
    if params.rule is PriceBoundRule.QUANTILE and len(jobs) < LEAST_PAST:
        params = replace(params, rule=PriceBoundRule.KAPPA)
    return price_bounds.of(jobs, machines.cluster, params)


def _jobs(asked: Iterable[Asked], machines: Machines, slot_seconds: float) -> Iterable[TrainingJob]:
    for one in asked:
        job = slot_jobs.training_job("past", one, machines, slot_seconds)
        if job is not None:
            yield job
