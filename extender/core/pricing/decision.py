"""One pricing pass over all jobs with a utility: kept plans, new plans, refusals.

1. The plans in the owners' annotations are read; plans of ended jobs free their room.
2. Plans that cannot be kept are replaced (``review``).
3. Jobs without a plan are offered the remaining room, in order of arrival, each after the plan
   before it is entered (Algorithm 1); jobs that run without a plan (``profiling``) as a slot
   begins. A refused job is offered room again when room was freed, nodes came, or a slot begins:
   otherwise prices have only grown, and the answer would be the same.

Apart from the annotations there is no state that decides: a restart changes no decision.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from msgspec import Struct
from typing_extensions import override

from extender.core.cluster.commands import ChangeOwner
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Decision, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.parameters.pricing import Replanning
from extender.core.pricing import (
    admission,
    candidates,
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
from extender.core.pricing.stable_schedule import ScheduleRequest
from extender.core.queue import slot_requests
from extender.core.records import slot_plan
from extender.core.records.slot_plan import JobRequest, OwnedPlan, SlotPlan, plans_by_job
from shared.model import JobKey, Owner, Uid

WRITE_SECONDS: Final = 30.0
"""How long a plan counts whose write is not observed."""


@dataclass
class _Draft:
    """The outcome of one pass while it is built; never leaves this module."""

    session: PricingSession
    state: PricingState
    pending: dict[Uid, Pending]
    commands: list[ChangeOwner] = field(default_factory=list)
    statuses: dict[JobKey, JobStatus] = field(default_factory=dict)
    refused: dict[JobKey, Refused] = field(default_factory=dict)
    measured: dict[str, float] = field(default_factory=dict)

    def add(self, waiting: Candidates, profiled: ProfileRuns) -> None:
        """Add what is decided before the first offer."""
        self.statuses |= waiting.problems | profiled.statuses
        self.commands += profiled.commands
        self.measured |= profiled.measured

    def profiled_statuses(self, profiled: ProfileRuns) -> dict[JobKey, JobStatus]:
        """Return the statuses, each with its profile run."""
        entries = profiled.entries
        return {key: replace(s, profile=entries.get(key)) for key, s in self.statuses.items()}

    def write(self, owner: Owner, plan: SlotPlan, before: SlotPlan | None) -> None:
        """Write the plan on its owner, and count it as written."""
        self.commands.append(notices.plan_change(owner, plan, before, self.session))
        until = self.session.session.monotonic + WRITE_SECONDS
        self.pending[owner.uid] = Pending(plan, owner.resource_version, until)


class PricingTrigger(Struct, frozen=True):
    """Every pass decides by the session alone."""


class PricingDecision(Decision[PricingState, PricingTrigger, PricingOutcome]):
    """See the module."""

    name = "pricing"
    state_type = PricingState
    trigger_type = PricingTrigger

    @override
    def decide(
        self, session: Session, state: PricingState, trigger: PricingTrigger
    ) -> PricingOutcome:
        return _decide(session, state)

    @override
    def summary(
        self, snapshot: Snapshot, trigger: PricingTrigger, outcome: PricingOutcome
    ) -> dict[str, object]:
        """Return the commands, and the status of every job."""
        statuses = {job: (s.reason, s.payoff) for job, s in sorted(outcome.statuses.items())}
        return {"commands": outcome.commands, "statuses": statuses}


PRICING: Final = PricingDecision()


def _decide(session: Session, state: PricingState) -> PricingOutcome:
    history, params = state.history, session.parameters.slot_time
    slot = slot_plan.slot_at(session.now, params.slot_seconds)
    wake_at = slot_plan.begins_at(slot + 1, params.slot_seconds)
    nodes = machines.read_machines(session.snapshot, params)
    if not params.enabled or nodes is None:
        return PricingOutcome(
            state=state, statuses={}, price_ledger=None, ended=(), wake_at=wake_at
        )
    pricing = PricingSession(session, nodes, slot, _is_first_pass(session, state, slot))
    draft = _Draft(pricing, state, _pending(session, state))
    plans = _plans(session.snapshot, draft.pending)
    waiting = candidates.find_candidates(session.snapshot, plans, history, params)
    profiled = profiling.review_profile_runs(waiting, plans, history, state.timings, pricing)
    draft.add(waiting, profiled)
    new = sorted([*waiting.offered, *profiled.candidates], key=_by_creation)
    present = {c.owner.uid: c.request for c in new}
    present |= {owned.owner.uid: owned.plan.request for owned in plans.values()}
    revision = _revise(plans, histories.learned_bounds(history, present, pricing), draft)
    era = _era(draft, revision)
    _offer_all(new, revision, draft, era)
    learned = histories.with_jobs(history, _newly_offered(present, history))
    after = PricingState(
        era=era,
        slot=slot,
        machines=nodes.mark,
        plans=dict(revision.plans),
        refused=draft.refused,
        pending=draft.pending,
        timings=profiled.timings,
        history=histories.with_steps(learned, draft.measured),
    )
    return PricingOutcome(
        commands=tuple(draft.commands),
        state=after,
        statuses=draft.profiled_statuses(profiled),
        price_ledger=_price_ledger(revision, pricing) if present or history.jobs else None,
        ended=_ended(state, revision, pricing),
        wake_at=wake_at,
    )


def _revise(plans: Mapping[JobKey, OwnedPlan], bounds: Bounds, draft: _Draft) -> Revision:
    """Return the plans of all jobs that have one and have not ended; write the changed ones."""
    session = draft.session
    reviews: list[PlanReview] = []
    for owned in sorted(plans.values(), key=_by_arrival):
        observed = observe_planned(session.session, owned, session.first)
        if not observed.ended:
            reviews.append(review.plan_review(owned, observed, session))
        elif owned.plan.job in draft.state.plans:  # it ended since the last pass
            draft.measured |= histories.measured_step_seconds(owned.plan, observed, session.now)
    revision = review.revise_plans(reviews, bounds, session)
    for reviewed in reviews:
        plan, before = revision.plans[reviewed.key], plans[reviewed.key]
        if plan != before.plan:
            draft.write(before.owner, plan, before.plan)
        status = notices.planned_status(plan, session, runs=reviewed.runs)
        draft.statuses[reviewed.key] = status
    return revision


def _by_arrival(owned: OwnedPlan) -> tuple[int, float, JobKey]:
    return (owned.plan.arrival, owned.owner.created_at, owned.plan.job)


def _by_creation(candidate: Candidate) -> tuple[float, JobKey]:
    return (candidate.job.created_at, candidate.job.key)


def _price_ledger(revision: Revision, session: PricingSession) -> PriceLedger:
    nodes = session.machines
    return PriceLedger(
        state=revision.state,
        nodes=nodes.names,
        server_nodes=nodes.server_names,
        resources=nodes.resources,
        units=tuple(nodes.units.tolist()),
        first=session.first,
    )


def _is_first_pass(session: Session, state: PricingState, slot: int) -> bool:
    """Return True for the first pass in the slot; without a state only if the slot just began."""
    if state.slot:
        return state.slot != slot
    seconds = session.parameters.slot_time.slot_seconds
    elapsed = session.now - slot_plan.begins_at(slot, seconds)
    return elapsed <= stable_schedule.GRACE * seconds


def _pending(session: Session, state: PricingState) -> dict[Uid, Pending]:
    """Return the plans whose write is pending: the owner has not changed since the command."""
    return {
        uid: pending
        for uid, pending in state.pending.items()
        if (owner := _owner(session.snapshot, uid, pending)) is not None
        and owner.resource_version == pending.resource_version
        and session.monotonic < pending.until
    }


def _owner(snapshot: Snapshot, uid: Uid, pending: Pending) -> Owner | None:
    namespace = pending.plan.job.partition("/")[0] if pending.plan is not None else ""
    return snapshot.owners.remembered(namespace, uid)


def _plans(snapshot: Snapshot, pending: Mapping[Uid, Pending]) -> Mapping[JobKey, OwnedPlan]:
    """Return the plans of the annotations, and those whose write is pending."""
    plans = dict(plans_by_job(snapshot))
    for uid, written in pending.items():
        owner = _owner(snapshot, uid, written)
        if written.plan is not None and owner is not None:
            plans[written.plan.job] = OwnedPlan(owner, written.plan)
    return plans


def _era(draft: _Draft, revision: Revision) -> int:
    """Return a larger number than before if a refused job may get a better offer now."""
    state, session = draft.state, draft.session
    freed = any(
        key not in revision.plans or revision.plans[key].spans != plan.spans
        for key, plan in state.plans.items()
    )
    same = state.slot == session.first and state.machines == session.machines.mark
    return state.era + (0 if same and not freed else 1)


def _offer_all(new: Sequence[Candidate], revision: Revision, draft: _Draft, era: int) -> None:
    session = draft.session
    requests = [(candidate, candidate.schedule_request(session)) for candidate in new]
    if session.parameters.admission.replanning is not Replanning.NEVER:
        requests.sort(key=lambda pair: _by_density(*pair))
    for candidate, request in requests:
        key = candidate.job.key
        refused = draft.state.refused.get(key)
        if candidate.running is not None and not session.boundary:
            refused = refused or Refused(era, Reason.AWAITING_PRICE, notices.AT_NEXT_SLOT)
        elif refused is None or (refused.era != era and refused.reason is not Reason.UTILITY_GONE):
            refused = _offer(candidate, request, revision, draft, era)
        if refused is not None:
            draft.refused[key] = refused
            draft.statuses[key] = JobStatus(
                key,
                payoff=refused.payoff,
                utility=refused.utility,
                bill=refused.bill,
                reason=refused.reason,
                message=_and_runs(refused.message) if candidate.running else refused.message,
            )


def _and_runs(message: str) -> str:
    return f"{message}; it runs on without a plan"


def _by_density(candidate: Candidate, request: ScheduleRequest | None) -> tuple[float, JobKey]:
    density = 0.0 if request is None else admission.density(request.job, 1)
    return (-density, candidate.job.key)


def _offer(
    candidate: Candidate,
    request: ScheduleRequest | None,
    revision: Revision,
    draft: _Draft,
    era: int,
) -> Refused | None:
    """Offer the job the remaining room; enter and write its plan, or return the refusal."""
    session, key = draft.session, candidate.job.key
    if request is None:
        return Refused(era, Reason.NO_SUCH_NODE, "no node has what its pods ask for")
    if candidate.running is not None and not request.current:
        return Refused(era, Reason.PAYOFF_TOO_LOW, notices.ELSEWHERE)
    params = session.parameters.admission
    schedule = stable_schedule.best_stable_schedule(
        request, revision.state, params, elapsed=session.elapsed
    )
    if schedule is None:
        return _refusal(request, revision, session, era)
    arrival, late_seconds = candidate.arrival(session)
    completion = schedule.completion_slot + session.first - 1
    plan = SlotPlan(
        job=key,
        request=candidate.request,
        slot_seconds=session.slot_seconds,
        arrival=arrival,
        promise=completion,
        completion=completion,
        utility=schedule.utility,
        bill=schedule.bill,
        spans=plan_schedule.spans_of(schedule, session.machines, session.first),
        done=request.job.done,
        since=session.first,
        late_seconds=late_seconds,
        owner=candidate.owner.uid,
    )
    revision.state.accept(request.job, OfferDecision(True, schedule.payoff, schedule))
    revision.plans[key] = plan
    draft.write(candidate.owner, plan, None)
    draft.statuses[key] = notices.planned_status(plan, session, runs=bool(candidate.running))
    return None


def _refusal(
    request: ScheduleRequest, revision: Revision, session: PricingSession, era: int
) -> Refused:
    job = request.job
    soonest = max(job.arrival, 1) + job.least_slots - 1 - job.arrival
    utility = job.utility.of(soonest)
    if utility <= slot_requests.GONE * job.utility.of(0):
        reason = Reason.UTILITY_GONE
        return Refused(era, reason, reason.message, utility=utility)
    reason = Reason.PAYOFF_TOO_LOW
    best = stable_schedule.best_stable_schedule(
        request,
        revision.state,
        session.parameters.admission,
        elapsed=session.elapsed,
        least_payoff=-1e300,
    )
    if best is None:
        return Refused(era, reason, notices.NO_ROOM, utility=utility)
    message = notices.too_expensive(best.utility, best.bill)
    return Refused(era, reason, message, payoff=best.payoff, utility=best.utility, bill=best.bill)


def _newly_offered(present: Mapping[Uid, JobRequest], history: History) -> tuple[PastJob, ...]:
    past = {job.uid for job in history.jobs}
    return tuple(PastJob(uid, request) for uid, request in present.items() if uid not in past)


def _ended(
    state: PricingState, revision: Revision, session: PricingSession
) -> tuple[EndedJob, ...]:
    ended = (plan for key, plan in sorted(state.plans.items()) if key not in revision.plans)
    return tuple(
        EndedJob(plan, Promise.BROKEN if notices.is_over(plan, session) else Promise.KEPT)
        for plan in ended
    )
