"""Between which prices machines cost, learned from the jobs that were offered so far."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from extender.engine.admission import described
from extender.engine.admission.history import History
from extender.engine.admission.machines import Machines
from extender.engine.admission.sight import Sight
from extender.engine.admission.slot_plan import Asked
from extender.policy import price_bounds
from extender.policy.price_bounds import Bounds, Rule
from extender.policy.training_job import TrainingJob
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
    if params.rule is Rule.QUANTILE and len(jobs) < LEAST_PAST:
        params = replace(params, rule=Rule.KAPPA)
    return price_bounds.of(jobs, machines.cluster, params)


def _jobs(asked: Iterable[Asked], machines: Machines, slot_seconds: float) -> Iterable[TrainingJob]:
    for one in asked:
        job = described.training_job("past", one, machines, slot_seconds)
        if job is not None:
            yield job
