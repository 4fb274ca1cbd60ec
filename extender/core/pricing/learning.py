"""What past jobs teach: seconds of a mini-batch, and the price bounds of machines."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from extender.core.cluster import training_spec
from extender.core.cluster.jobs import State
from extender.core.parameters.pricing import PriceBoundRule
from extender.core.pricing import inputs, price_bounds, review
from extender.core.pricing.history import History
from extender.core.pricing.inputs import PricingSession
from extender.core.pricing.machines import Machines
from extender.core.pricing.observed_job import ObservedJob
from extender.core.pricing.price_bounds import Bounds
from extender.core.pricing.training_job import TrainingJob
from extender.core.queue import running_jobs
from extender.core.records import slot_plan
from extender.core.records.slot_plan import JobRequest, SlotPlan
from shared.model import Uid

_LEAST_SHARE: Final = 0.1
"""Of a smaller part of a training that was watched nothing is concluded."""


def measured_step_seconds(plan: SlotPlan, facts: ObservedJob, now: float) -> dict[str, float]:
    """Return run name → measured seconds, by the workers it had; empty if nothing can be said.

    Args:
        plan: The job's last plan.
        facts: State of the job.
        now: When its end was observed, seconds since the epoch.
    """
    if facts.job is None or not facts.job.having(State.SUCCEEDED):
        return {}
    since = slot_plan.begins_at(plan.since, plan.slot_seconds)
    used = review.work_between(plan, since, now)
    share = 1.0 - plan.done
    if share < _LEAST_SHARE or used <= 0.0:
        return {}
    training = plan.asked.work
    batches = training.epochs * training.chunks * training.batches
    seconds = used / (share * batches)
    return {running_jobs.run_name(plan.job): seconds} if training_spec.is_batch(seconds) else {}


LEAST_PAST: Final = 8
"""With fewer jobs a quantile says nothing: then idle machines are nearly free (``kappa``)."""


def learned_bounds(
    history: History, present: Mapping[Uid, JobRequest], session: PricingSession
) -> Bounds:
    """Return the bounds by past jobs and those that are there now; each counts once.

    Args:
        history: Past jobs.
        present: Jobs that are there, by their owners.
        session: The machines, and the rule.
    """
    machines, slot_seconds = session.machines, session.slot_seconds
    params = session.params.price_bounds
    known = {job.uid: job.asked for job in history.jobs}
    jobs = list(_training_jobs({**present, **known}.values(), machines, slot_seconds))
    if not jobs:
        nothing = np.full(len(machines.resources), price_bounds.FREE)
        return Bounds(nothing, nothing + 1.0, nothing, nothing + 1.0)
    if params.rule is PriceBoundRule.QUANTILE and len(jobs) < LEAST_PAST:
        params = replace(params, rule=PriceBoundRule.KAPPA)
    return price_bounds.price_bounds(jobs, machines.cluster, params)


def _training_jobs(
    asked: Iterable[JobRequest], machines: Machines, slot_seconds: float
) -> Iterable[TrainingJob]:
    for one in asked:
        job = inputs.training_job("past", one, machines, slot_seconds)
        if job is not None:
            yield job
