"""What an admitted job that has ended teaches: how long a mini-batch takes one worker."""

from typing import Final

from extender.engine import durations
from extender.engine.admission import case, grammar, slot_time
from extender.engine.admission.facts import Facts
from extender.engine.admission.slot_plan import SlotPlan
from extender.engine.jobs import State

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
    since = slot_time.begins_at(plan.since, plan.slot_seconds)
    used = case.work_between(plan, since, now)
    share = 1.0 - plan.done
    if share < _LEAST_SHARE or used <= 0.0:
        return {}
    training = grammar.training_of(plan.asked.training)
    batches = training.epochs * training.chunks * training.batches
    seconds = used / (share * batches)
    return {durations.run_name(plan.job): seconds} if grammar.is_batch(seconds) else {}
