"""Jobs with a utility on one node, a pricing pass over them, and their explanation.

4 CPUs of the node belong to jobs with a utility. Slots last 10 minutes, so that a worker of one CPU
with 1200 steps of 3 s needs 6 worker-slots.
"""

from extender.core import explain
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.explain import Ledgers
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.pricing import SlotTimeParameters
from extender.core.pricing.decision import PRICING, PricingTrigger
from extender.core.pricing.history import History
from extender.core.pricing.outcome import JobStatus, PricingOutcome, PricingState, Promise
from extender.core.records.slot_plan import JobRequest, SlotPlan, Span
from shared import labels
from shared.model import Entity, JobKey, NodeName
from shared.readapi import api
from tests.fakes.builders import make_node, make_shape
from tests.unit.core.clusters import queued_job

SLOT = 600.0
PARAMS = CoreParameters(
    slot_time=SlotTimeParameters(enabled=True, slot_seconds=SLOT, horizon=24, share=0.5)
)
NOW = Reading(100 * SLOT, 100 * SLOT)
NODE = make_node("a", cpu="8")
JOB = JobKey("default/job/late")
"""The job that is explained."""
PLANNED_JOB = JobKey("default/job/big")
PLAN = SlotPlan(
    job=PLANNED_JOB,
    request=JobRequest(
        "steps:1h=10",
        "epochs=1,chunks=1,batches=1,step=1s",
        make_shape(),
        least=1,
        most=4,
        servers=2,
    ),
    slot_seconds=10.0,
    arrival=1,
    promise=5,
    completion=6,
    utility=10.0,
    bill=2.5,
    spans=(Span(2, 3, {NodeName("a"): 2}), Span(6, 6, {NodeName("a"): 1})),
)
PLANNED = JobStatus(PLANNED_JOB, PLAN, payoff=7.5, utility=10.0, bill=2.5, promise=Promise.SLIPPED)
"""An admitted job that has workers in slots 2, 3 and 6."""


def job(
    name: str, utility: str, *, workers: int = 4, steps: int = 1200, created_at: float = 0.0
) -> list[Entity]:
    """Build a job with a utility; ``created_at`` counts from now."""
    annotations = {
        labels.UTILITY: utility,
        labels.TRAINING: f"epochs=1,chunks={workers},batches={steps // workers},step=3s",
    }
    return queued_job(
        name, workers, created_at=NOW.now + created_at, annotations=annotations, cpu="1"
    )


def priced(
    snapshot: Snapshot,
    history: History | None = None,
    params: CoreParameters = PARAMS,
    now: Reading = NOW,
) -> PricingOutcome:
    """Return the outcome of a pricing pass."""
    state = PricingState(history=history or History())
    return PRICING.decide(Session(snapshot, now, params), state, PricingTrigger())


def explained(
    snapshot: Snapshot,
    outcome: PricingOutcome,
    history: History,
    params: CoreParameters = PARAMS,
) -> api.ExplainResponse:
    """Return the explanation of the job after a pricing pass."""
    standing = outcome.statuses[JOB]
    plain = api.ExplainResponse(
        generated_at=NOW.now,
        namespace="default",
        job=JOB,
        state="gated",
        reason=standing.reason.value if standing.reason else "",
    )
    session = explain.isolated(Session(snapshot, NOW, params), None)
    ledgers = Ledgers(outcome.statuses, outcome.price_ledger, history)
    return explain.with_ledgers(plain, session, ledgers)
