"""Past jobs, and what is learned from them: seconds of a mini-batch, price bounds of machines.

The history outlives the extender as text that is versioned and of limited size.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace as changed

from extender.core.cluster import training_spec
from extender.core.cluster.jobs import State
from extender.core.parameters.pricing import PriceBoundRule
from extender.core.pricing import inputs, price_bounds, review
from extender.core.pricing.inputs import PricingSession
from extender.core.pricing.machines import Machines
from extender.core.pricing.observed_job import ObservedJob
from extender.core.pricing.price_bounds import Bounds
from extender.core.pricing.training_job import TrainingJob
from extender.core.queue import running_jobs
from extender.core.records import slot_plan
from extender.core.records.slot_plan import JobRequest, SlotPlan
from shared.errors import InputError
from shared.model import Uid

VERSION: Final = 1
MOST_BYTES: Final = 512 * 1024
"""A ConfigMap holds 1 MiB; of a longer text the older half is left out, as often as needed."""
MOST_PAST: Final = 200
"""Jobs that are kept; the one offered longest ago is dropped first."""
MOST_NAMES: Final = 1000
"""Names whose step time is kept, likewise."""
LEAST_PAST: Final = 8
"""With fewer jobs quantiles mean nothing: then idle machines are nearly free (``kappa``)."""
_LEAST_SHARE: Final = 0.1
"""Least share of a training that must have run by the plan to learn from it."""
_EXPECTED: Final = "what the extender wrote there; it is learned anew"


class PastJob(Struct, frozen=True):
    """A job that was offered once.

    Attributes:
        uid: Of its owner; each job is kept once.
        request: The job.
    """

    uid: Uid
    request: JobRequest = msgspec.field(name="asked")


class History(Struct, frozen=True, omit_defaults=True):
    """See the module.

    Attributes:
        jobs: Offered jobs, the newest last.
        step_seconds: Seconds of a mini-batch on one worker, with push and pull, by run name
            (``running_jobs.run_name``), in the order of measurement.
    """

    jobs: tuple[PastJob, ...] = ()
    step_seconds: Mapping[str, float] = {}


class _Stored(Struct, frozen=True):
    version: int
    history: History


_DECODER: Final = msgspec.json.Decoder(_Stored)


def text(history: History) -> str:
    """Return the history as one line of JSON of at most ``MOST_BYTES``."""
    line = msgspec.json.encode(_Stored(VERSION, history))
    while len(line) > MOST_BYTES:
        history = _newer_half(history)
        line = msgspec.json.encode(_Stored(VERSION, history))
    return line.decode()


def read(line: str, *, field: str) -> History:
    """Return the history; empty text is an empty one.

    Args:
        line: What ``text`` returned.
        field: Name of the text, for the error.

    Raises:
        InputError: The text is not a history, or one of another version.
    """
    if not line:
        return History()
    try:
        stored = _DECODER.decode(line)
    except msgspec.MsgspecError as error:
        raise InputError(field, _begin(line), f"{_EXPECTED} ({error})") from None
    if stored.version != VERSION:
        raise InputError(field, f"version {stored.version}", f"version {VERSION}")
    if not all(training_spec.is_batch(seconds) for seconds in stored.history.step_seconds.values()):
        raise InputError(
            field, _begin(line), f"{_EXPECTED} (step_seconds: {training_spec.BATCH_EXPECTED})"
        )
    return stored.history


def merged(stored: History, own: History) -> History:
    """Return the history of another replica with our additions; ours is newer."""
    return with_steps(with_jobs(stored, own.jobs), own.step_seconds)


def _newer_half(history: History) -> History:
    names = list(history.step_seconds.items())
    return changed(
        history,
        jobs=history.jobs[(len(history.jobs) + 1) // 2 :],
        step_seconds=dict(names[(len(names) + 1) // 2 :]),
    )


def _begin(line: str) -> str:
    return line[:40]


def with_jobs(history: History, offered: tuple[PastJob, ...]) -> History:
    """Return the history with these jobs; a job already in it is not added again."""
    uids = {job.uid for job in history.jobs}
    new = tuple(job for job in offered if job.uid not in uids)
    return changed(history, jobs=(*history.jobs, *new)[-MOST_PAST:]) if new else history


def with_steps(history: History, measured: Mapping[str, float]) -> History:
    """Return the history with these step times by run name."""
    if not measured:
        return history
    kept = {n: s for n, s in history.step_seconds.items() if n not in measured}
    names = [*kept.items(), *measured.items()][-MOST_NAMES:]
    return changed(history, step_seconds=dict(names))


def measured_step_seconds(plan: SlotPlan, observed: ObservedJob, now: float) -> dict[str, float]:
    """Return measured seconds of a mini-batch by run name; empty if they cannot be concluded.

    Args:
        plan: The job's last plan.
        observed: State of the job.
        now: When its end was observed, seconds since the epoch.
    """
    if observed.job is None or not observed.job.having(State.SUCCEEDED):
        return {}
    since = slot_plan.begins_at(plan.since, plan.slot_seconds)
    used = review.work_between(plan, since, now)
    share = 1.0 - plan.done
    if share < _LEAST_SHARE or used <= 0.0:
        return {}
    training = plan.request.parsed_training
    batches = training.epochs * training.chunks * training.batches
    seconds = used / (share * batches)
    return {running_jobs.run_name(plan.job): seconds} if training_spec.is_batch(seconds) else {}


def learned_bounds(
    history: History, present: Mapping[Uid, JobRequest], session: PricingSession
) -> Bounds:
    """Return the bounds by past and present jobs; each counts once.

    Args:
        history: Past jobs.
        present: Present jobs, by their owners.
        session: The machines, and the rule.
    """
    machines, slot_seconds = session.machines, session.slot_seconds
    params = session.parameters.price_bounds
    past = {job.uid: job.request for job in history.jobs}
    jobs = list(_training_jobs({**present, **past}.values(), machines, slot_seconds))
    if not jobs:
        nothing = np.full(len(machines.resources), price_bounds.FREE)
        return Bounds(nothing, nothing + 1.0, nothing, nothing + 1.0)
    if params.rule is PriceBoundRule.QUANTILE and len(jobs) < LEAST_PAST:
        params = replace(params, rule=PriceBoundRule.KAPPA)
    return price_bounds.price_bounds(jobs, machines.cluster, params)


def _training_jobs(
    requests: Iterable[JobRequest], machines: Machines, slot_seconds: float
) -> Iterable[TrainingJob]:
    for request in requests:
        job = inputs.training_job("past", request, machines, slot_seconds)
        if job is not None:
            yield job
