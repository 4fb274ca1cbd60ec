"""What an admitted job that has ended teaches: how long a mini-batch takes one worker."""

from typing import Final

from extender.core.cluster import training_spec
from extender.core.cluster.jobs import State
from extender.core.pricing import review
from extender.core.pricing.facts import Facts
from extender.core.queue import running_jobs
from extender.core.records import slot_plan
from extender.core.records.slot_plan import SlotPlan

_LEAST_SHARE: Final = 0.1
"""Of a smaller part of a training that was watched nothing is concluded."""


def step_seconds(plan: SlotPlan, facts: Facts, now: float) -> dict[str, float]:
    """Return run name → measured seconds, by the workers it had; empty if nothing can be said.

    Args:
        plan: The job's last plan.
        facts: How it stands.
        now: When it was seen to have ended, seconds since the epoch.
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
