"""One pricing pass over all jobs with a utility: plans that hold, new plans, refusals.

1. The plans in the owners' annotations are read; jobs that ended give theirs back.
2. Plans that cannot be kept are made anew (``review``).
3. Jobs without a plan are offered what is left, in order of arrival, each after the plan before it
   is entered (Algorithm 1); jobs that run without one (``profiling``) as a slot begins. A refused
   job is offered again when room was freed, nodes came, or a slot begins: otherwise prices have
   only grown, and the answer would be the same.

The state holds nothing else: the same annotations give the same decisions after a restart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from msgspec import Struct
from typing_extensions import override

from extender.core.cluster.commands import ChangeOwner
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Decision, Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.pricing import Replanning
from extender.core.pricing import (
    admission,
    candidates,
    learning,
    machines,
    notices,
    plan_schedule,
    profiling,
    review,
    stable_schedule,
)
from extender.core.pricing import history as histories
from extender.core.pricing.admission import OfferDecision
from extender.core.pricing.candidates import Candidate, Candidates
from extender.core.pricing.history import History, PastJob
from extender.core.pricing.inputs import PricingSession
from extender.core.pricing.observed_job import observe_planned
from extender.core.pricing.outcome import (
    EndedJob,
    JobStatus,
    Pending,
    PriceLedger,
    PricingOutcome,
    PricingState,
    Promise,
    Refused,
)
from extender.core.pricing.price_bounds import Bounds
from extender.core.pricing.profiling import ProfileRuns
from extender.core.pricing.review import PlanReview, Revision
from extender.core.queue import slot_requests
from extender.core.records import slot_plan
from extender.core.records.slot_plan import JobRequest, OwnedPlan, SlotPlan, plans_by_job
from shared.model import JobKey, Owner, Uid

WRITE_SECONDS: Final = 30.0
"""How long a plan counts that we have asked to be written and have not seen."""


@dataclass
class _Pass:
    """What one pass carries from step to step; never leaves this module."""

    seen: PricingSession
    memory: PricingState
    commands: list[ChangeOwner] = field(default_factory=list)
    standings: dict[JobKey, JobStatus] = field(default_factory=dict)
    pending: dict[Uid, Pending] = field(default_factory=dict)
    refused: dict[JobKey, Refused] = field(default_factory=dict)
    measured: dict[str, float] = field(default_factory=dict)

    def take(self, found: Candidates, profiled: ProfileRuns) -> None:
        """Take over what is known before the first offer."""
        self.standings |= found.problems | profiled.standings
        self.commands += profiled.commands
        self.measured |= profiled.measured

    def told(self, profiled: ProfileRuns) -> dict[JobKey, JobStatus]:
        """Return the standings, with what is measured."""
        entries = profiled.entries
        return {k: replace(s, profile=entries.get(k)) for k, s in self.standings.items()}

    def write(self, owner: Owner, plan: SlotPlan, before: SlotPlan | None) -> None:
        """Have the plan written on its owner, and count it as written."""
        self.commands.append(notices.plan_change(owner, plan, before, self.seen))
        until = self.seen.reading.monotonic + WRITE_SECONDS
        self.pending[owner.uid] = Pending(plan, owner.resource_version, until)


class PricingTrigger(Struct, frozen=True):
    """Nothing but the session makes a pass."""


class PricingDecision(Decision[PricingState, PricingTrigger, PricingOutcome]):
    """See the module."""

    name = "pricing"
    state_type = PricingState
    trigger_type = PricingTrigger

    @override
    def decide(
        self, session: Session, state: PricingState, trigger: PricingTrigger
    ) -> PricingOutcome:
        return _decided(session, state)

    @override
    def summary(
        self, snapshot: Snapshot, trigger: PricingTrigger, outcome: PricingOutcome
    ) -> dict[str, object]:
        """Return the commands, and how every job stands."""
        standings = {job: (s.reason, s.payoff) for job, s in sorted(outcome.standings.items())}
        return {"commands": outcome.commands, "standings": standings}


PRICING: Final = PricingDecision()


def _decided(session: Session, memory: PricingState) -> PricingOutcome:
    snapshot, reading, params = session.snapshot, session.reading, session.parameters
    history = memory.history
    slot = slot_plan.slot_at(reading.now, params.slot_time.slot_seconds)
    wake_at = slot_plan.begins_at(slot + 1, params.slot_time.slot_seconds)
    nodes = machines.read_machines(snapshot, params.slot_time)
    if not params.slot_time.enabled or nodes is None:
        return PricingOutcome(state=memory, standings={}, book=None, ended=(), wake_at=wake_at)
    boundary = _begins(memory, slot, reading, params)
    seen = PricingSession(session, nodes, slot, boundary)
    one = _Pass(seen, memory, pending=_pending(snapshot, memory, reading))
    known = _known(snapshot, one.pending)
    found = candidates.find_candidates(snapshot, known, history, params.slot_time)
    profiled = profiling.review_profile_runs(found, known, history, memory.timings, seen)
    one.take(found, profiled)
    new = sorted([*found.offered, *profiled.runners], key=_came)
    present = {c.owner.uid: c.asked for c in new}
    present |= {each.owner.uid: each.plan.asked for each in known.values()}
    revision = _revised(known, learning.learned_bounds(history, present, seen), one)
    era = _era(one, revision)
    _offer_all(new, revision, one, era)
    learned = histories.with_jobs(history, _offered(present, history))
    after = PricingState(
        era=era,
        slot=slot,
        machines=nodes.mark,
        plans=dict(revision.plans),
        refused=one.refused,
        pending=one.pending,
        timings=profiled.timings,
        history=histories.with_steps(learned, one.measured),
    )
    return PricingOutcome(
        commands=tuple(one.commands),
        state=after,
        standings=one.told(profiled),
        book=_price_ledger(revision, seen) if present or history.jobs else None,
        ended=_ended(memory, revision, seen),
        wake_at=wake_at,
    )


def _revised(known: Mapping[JobKey, OwnedPlan], prices: Bounds, one: _Pass) -> Revision:
    """Return the plans of all who have one and have not ended; write down those that changed."""
    seen = one.seen
    cases: list[PlanReview] = []
    for each in sorted(known.values(), key=_arrival):
        stands = observe_planned(seen.session, each, seen.first)
        if not stands.ended:
            cases.append(review.plan_review(each, stands, seen))
        elif each.plan.job in one.memory.plans:  # it ended since the last pass
            one.measured |= learning.measured_step_seconds(each.plan, stands, seen.reading.now)
    revision = review.revise_plans(cases, prices, seen)
    for one_case in cases:
        plan, before = revision.plans[one_case.key], known[one_case.key]
        if plan != before.plan:
            one.write(before.owner, plan, before.plan)
        one.standings[one_case.key] = notices.planned_status(plan, seen, runs=one_case.runs)
    return revision


def _arrival(one: OwnedPlan) -> tuple[int, float, JobKey]:
    return (one.plan.arrival, one.owner.created_at, one.plan.job)


def _came(one: Candidate) -> tuple[float, JobKey]:
    return (one.job.created_at, one.job.key)


def _price_ledger(revision: Revision, seen: PricingSession) -> PriceLedger:
    nodes = seen.machines
    units = tuple(nodes.units.tolist())
    return PriceLedger(
        revision.state, nodes.names, nodes.server_names, nodes.resources, units, seen.first
    )


def _begins(memory: PricingState, slot: int, reading: Reading, params: CoreParameters) -> bool:
    """Return True if this is the first look in the slot, as far as a new life can tell."""
    if memory.slot:
        return memory.slot != slot
    seconds = params.slot_time.slot_seconds
    return reading.now - slot_plan.begins_at(slot, seconds) <= stable_schedule.GRACE * seconds


def _pending(snapshot: Snapshot, memory: PricingState, reading: Reading) -> dict[Uid, Pending]:
    """Return the plans that are on their way: the owner has not changed since we asked."""
    return {
        uid: one
        for uid, one in memory.pending.items()
        if (owner := _carrier(snapshot, uid, one)) is not None
        and owner.resource_version == one.resource_version
        and reading.monotonic < one.until
    }


def _carrier(snapshot: Snapshot, uid: Uid, one: Pending) -> Owner | None:
    namespace = one.plan.job.partition("/")[0] if one.plan is not None else ""
    return snapshot.owners.remembered(namespace, uid)


def _known(snapshot: Snapshot, pending: Mapping[Uid, Pending]) -> Mapping[JobKey, OwnedPlan]:
    found = dict(plans_by_job(snapshot))
    for uid, one in pending.items():
        owner = _carrier(snapshot, uid, one)
        if one.plan is not None and owner is not None:
            found[one.plan.job] = OwnedPlan(owner, one.plan)
    return found


def _era(one: _Pass, revision: Revision) -> int:
    """Return a larger number than before if anybody who was turned away may have it better now."""
    memory, seen = one.memory, one.seen
    freed = any(
        key not in revision.plans or revision.plans[key].spans != plan.spans
        for key, plan in memory.plans.items()
    )
    same = memory.slot == seen.first and memory.machines == seen.machines.mark
    return memory.era + (0 if same and not freed else 1)


def _offer_all(new: Sequence[Candidate], revision: Revision, one: _Pass, era: int) -> None:
    wanted = [(candidate, candidate.wanted(one.seen)) for candidate in new]
    if one.seen.params.admission.replanning is not Replanning.NEVER:
        wanted.sort(key=lambda pair: _density(*pair))
    for candidate, job in wanted:
        key = candidate.job.key
        refused = one.memory.refused.get(key)
        if candidate.stands is not None and not one.seen.boundary:
            refused = refused or Refused(era, Reason.AWAITING_PRICE, notices.AT_NEXT_SLOT)
        elif refused is None or (refused.era != era and refused.reason is not Reason.UTILITY_GONE):
            refused = _offer(candidate, job, revision, one, era)
        if refused is not None:
            one.refused[key] = refused
            one.standings[key] = JobStatus(
                key,
                payoff=refused.payoff,
                utility=refused.utility,
                bill=refused.bill,
                reason=refused.reason,
                message=_and_runs(refused.message) if candidate.stands else refused.message,
            )


def _and_runs(message: str) -> str:
    return f"{message}; it runs on without a plan"


def _density(
    candidate: Candidate, wanted: stable_schedule.ScheduleRequest | None
) -> tuple[float, JobKey]:
    worth = 0.0 if wanted is None else admission.density(wanted.job, 1)
    return (-worth, candidate.job.key)


def _offer(
    candidate: Candidate,
    wanted: stable_schedule.ScheduleRequest | None,
    revision: Revision,
    one: _Pass,
    era: int,
) -> Refused | None:
    """Offer the job what is left; enter its plan if it takes it, else say why it does not."""
    seen, key = one.seen, candidate.job.key
    if wanted is None:
        return Refused(era, Reason.NO_SUCH_NODE, "no node has what its pods ask for")
    if candidate.stands is not None and not wanted.here:
        return Refused(era, Reason.PAYOFF_TOO_LOW, notices.ELSEWHERE)
    params = seen.params.admission
    schedule = stable_schedule.best_stable_schedule(
        wanted, revision.state, params, elapsed=seen.elapsed
    )
    if schedule is None:
        return _refusal(wanted, revision, seen, era)
    arrival, late = candidate.arrival(seen)
    completion = schedule.completion_slot + seen.first - 1
    plan = SlotPlan(
        job=key,
        asked=candidate.asked,
        slot_seconds=seen.slot_seconds,
        arrival=arrival,
        promise=completion,
        completion=completion,
        utility=schedule.utility,
        bill=schedule.bill,
        spans=plan_schedule.spans_of(schedule, seen.machines, seen.first),
        done=wanted.job.done,
        since=seen.first,
        late_seconds=late,
        owner=candidate.owner.uid,
    )
    revision.state.accept(wanted.job, OfferDecision(True, schedule.payoff, schedule))
    revision.plans[key] = plan
    one.write(candidate.owner, plan, None)
    one.standings[key] = notices.planned_status(plan, seen, runs=candidate.stands is not None)
    return None


def _refusal(
    wanted: stable_schedule.ScheduleRequest, revision: Revision, seen: PricingSession, era: int
) -> Refused:
    job = wanted.job
    soonest = max(job.arrival, 1) + job.least_slots - 1 - job.arrival
    utility = job.utility.of(soonest)
    if utility <= slot_requests.GONE * job.utility.of(0):
        reason = Reason.UTILITY_GONE
        return Refused(era, reason, reason.message, utility=utility)
    reason = Reason.PAYOFF_TOO_LOW
    best = stable_schedule.best_stable_schedule(
        wanted, revision.state, seen.params.admission, elapsed=seen.elapsed, least_payoff=-1e300
    )
    if best is None:
        return Refused(era, reason, notices.NO_ROOM, utility=utility)
    message = notices.too_expensive(best.utility, best.bill)
    return Refused(era, reason, message, best.payoff, best.utility, best.bill)


def _offered(present: Mapping[Uid, JobRequest], history: History) -> tuple[PastJob, ...]:
    known = {job.uid for job in history.jobs}
    return tuple(PastJob(uid, asked) for uid, asked in present.items() if uid not in known)


def _ended(memory: PricingState, revision: Revision, seen: PricingSession) -> tuple[EndedJob, ...]:
    over = (plan for key, plan in sorted(memory.plans.items()) if key not in revision.plans)
    return tuple(
        EndedJob(plan, Promise.BROKEN if notices.is_over(plan, seen) else Promise.KEPT)
        for plan in over
    )
