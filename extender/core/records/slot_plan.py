"""Slot plans of admitted jobs: the annotation ``shuntyard.io/slot-plan`` of the owner.

The plans are the whole state of admission. A plan holds all inputs of replanning, as a
suspended job has no pods to read it from. Slots are numbered since the epoch, so that all replicas
use the same numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import msgspec
from msgspec import Struct

from extender.core.cluster import job_views, training_spec
from extender.core.cluster.owners import from_owner
from extender.core.cluster.snapshot import Snapshot
from extender.core.cluster.training_spec import Training
from extender.core.cluster.utility import UtilityCurve, utility_of
from extender.core.parameters.pricing import SlotTimeParameters
from extender.core.records import annotations, rescale
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, NodeName, Owner, PodShape, Uid
from shared.parameters import bounds


class Span(Struct, frozen=True, array_like=True):
    """Slots in a row with the same pods on each node.

    Attributes:
        first: The first slot, counted since the epoch.
        last: The last one.
        workers: Workers.
        servers: Parameter servers.
    """

    first: int
    last: int
    workers: Mapping[NodeName, int]
    servers: Mapping[NodeName, int] = {}


class JobRequest(Struct, frozen=True, omit_defaults=True, dict=True):
    """What a job requests, as of its admission.

    Attributes:
        utility: Text of annotation ``shuntyard.io/utility``.
        training: Text of annotation ``shuntyard.io/training``, completed by measured values.
        worker: Requests of a worker; of each resource the most that any worker requests.
        server: The same of its other pods.
        least: Least workers with which it runs.
        most: Most workers it can use.
        servers: Number of its other pods: parameter servers, a launcher.
        shrinks: Whether workers may leave while others go on.
        pauses: Whether it may be suspended between two slots.
    """

    utility: str
    training: str
    worker: PodShape
    server: PodShape = PodShape()
    least: int = 1
    most: int = 1
    servers: int = 0
    shrinks: bool = False
    pauses: bool = False

    @cached_property
    def utility_curve(self) -> UtilityCurve:
        """The utility as a value.

        Raises:
            InputError: The text cannot be used.
        """
        return utility_of(self.utility)

    @cached_property
    def parsed_training(self) -> Training:
        """The training as a value.

        Raises:
            InputError: The text cannot be used.
        """
        return training_spec.training_of(self.training)


class SlotPlan(Struct, frozen=True, omit_defaults=True):
    """The plan of an admitted job; slots are counted since the epoch.

    Attributes:
        job: The job.
        request: What it requests.
        slot_seconds: Length of the slots of the plan.
        arrival: Slot in which the job came.
        late_seconds: How long after the beginning of that slot.
        promise: Slot of completion by the first plan. Never changed.
        completion: Slot of completion by the present plan.
        utility: Utility of completing then.
        bill: Price of its resources.
        spans: Slots and nodes, in order; pauses lie between them. Spans that are over are left out
            when it is planned again.
        done: Share of the training that was done when the plan was last changed, 0…1.
        since: Slot from which the spans count.
        owner: Uid of the owner; a copy on another object is ignored.
    """

    job: JobKey
    request: JobRequest = msgspec.field(name="asked")
    slot_seconds: float
    arrival: int
    promise: int
    completion: int
    utility: float
    bill: float
    spans: tuple[Span, ...]
    done: float = 0.0
    since: int = 0
    late_seconds: float = 0.0
    owner: Uid = Uid("")

    @property
    def payoff(self) -> float:
        """Utility minus bill."""
        return self.utility - self.bill

    def at(self, slot: int) -> Span | None:
        """Return the span of a slot; None if nothing runs."""
        return next((span for span in self.spans if span.first <= slot <= span.last), None)

    def workers_at(self, slot: int) -> int:
        """Return how many workers run in a slot."""
        span = self.at(slot)
        return 0 if span is None else sum(span.workers.values())


@dataclass(frozen=True)
class OwnedPlan:
    """A plan with the owner that carries it."""

    owner: Owner
    plan: SlotPlan


def plans_by_job(snapshot: Snapshot) -> Mapping[JobKey, OwnedPlan]:
    """Return the plans by job, those of suspended jobs too, in order of arrival.

    Plans that cannot be read are left out, and plans on an owner that is not one of the job's. Of
    two owners with a plan the older counts.
    """
    plans: dict[JobKey, OwnedPlan] = {}
    found, _unreadable = annotations.of_owners(snapshot, labels.SLOT_PLAN, read)
    for owner, plan in sorted(found, key=lambda one: (one[0].created_at, one[0].key)):
        if _counts(snapshot, owner, plan):
            plans.setdefault(plan.job, OwnedPlan(owner, plan))
    return plans


def _counts(snapshot: Snapshot, owner: Owner, plan: SlotPlan) -> bool:
    """Return True if a plan is on a deciding owner of the job.

    The plan of a job without pods must be on the owner that we paused, or on one above it.
    """
    if plan.job in snapshot.jobs:
        owners = job_views.view(snapshot, plan.job).deciding_owners
    else:
        paused = rescale.rescale_records(snapshot).by_job.get(plan.job)
        owners = from_owner(snapshot, paused.owner) if paused is not None else (owner,)
    return any(over.uid == owner.uid for over in owners)


_BOUNDS: Final = bounds(SlotTimeParameters)


def slot_at(now: float, slot_seconds: float) -> int:
    """Return the number of the slot in which ``now`` lies, counted since the epoch."""
    return int(now // slot_seconds)


def begins_at(slot: int, slot_seconds: float) -> float:
    """Return when a slot begins, seconds since the epoch."""
    return slot * slot_seconds


MOST_PODS: Final = 1_000_000
"""Of a job: no cluster has more."""


MOST_UTILITY: Final = 1e300


LAST_SLOT: Final = 10**11
"""Since the epoch: with slots of a second some thousand years."""


_DECODER = msgspec.json.Decoder(SlotPlan)


def read(owner: Owner) -> SlotPlan | None:
    """Return the plan in the owner's annotation; None if it has none.

    Raises:
        InputError: The annotation is not a plan of ours.
    """
    plan = annotations.read(owner, labels.SLOT_PLAN, _DECODER)
    if plan is not None:
        _check(plan)
    return plan


def _check(plan: SlotPlan) -> None:
    """Check the values of a plan: any client that may patch the owner can write one.

    Raises:
        InputError: A value is out of its range.
    """
    low, high = _BOUNDS["slot_seconds"]
    request, spans, numbers = plan.request, plan.spans, (plan.utility, plan.bill, plan.late_seconds)
    slots = [plan.arrival, plan.promise, plan.completion, plan.since]
    slots += [slot for span in spans for slot in (span.first, span.last)]
    for name, valid, expected in (
        ("asked.utility", bool(request.utility_curve), "a utility"),
        ("asked.training", request.parsed_training.complete, "complete"),
        ("asked", 1 <= request.least <= request.most <= MOST_PODS, "least and most workers from 1"),
        ("asked.servers", 0 <= request.servers <= MOST_PODS, "a number of pods"),
        ("slot_seconds", low <= plan.slot_seconds <= high, f"from {low:g} to {high:g}"),
        ("done", 0.0 <= plan.done <= 1.0, "from 0 to 1"),
        (
            "utility",
            all(abs(number) <= MOST_UTILITY for number in numbers),
            "a number of that size",
        ),
        ("spans", all(map(_is_valid, spans)), "slots of our horizon, with pods on each node"),
        ("arrival", all(0 <= slot <= LAST_SLOT for slot in slots), "slots since the epoch"),
    ):
        if not valid:
            raise InputError(f"{name} of annotation {labels.SLOT_PLAN}", text(plan), expected)


def _is_valid(span: Span) -> bool:
    pods = (*span.workers.values(), *span.servers.values())
    slots = span.last - span.first
    return 0 <= slots < _BOUNDS["horizon"][1] and all(0 <= n <= MOST_PODS for n in pods)


def text(plan: SlotPlan) -> str:
    """Return the text of the annotation."""
    return msgspec.json.encode(plan).decode()
