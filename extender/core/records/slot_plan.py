"""Slot plans of admitted jobs: the annotation ``shuntyard.io/slot-plan`` of the owner.

The plans are the whole state of admission. A plan holds all that planning anew needs, as a
suspended job has no pods to read it from. Slots are numbered since the epoch, so that all replicas
count alike.
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
from extender.core.cluster.training_spec import Training, UtilityCurve
from extender.core.parameters.pricing import SlotTimeParameters
from extender.core.records import annotations, rescale
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, NodeName, Owner, PodShape, Uid
from shared.parameters import bounds


class Span(Struct, frozen=True, array_like=True):
    """Slots in a row in which the same is planned; node → pods there.

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
    """What a job is, as it was understood when it was admitted.

    Attributes:
        utility: As annotation ``shuntyard.io/utility`` says it.
        training: As annotation ``shuntyard.io/training`` says it, with what was measured filled in.
        worker: What a worker asks of a node; of each resource the most that one asks for.
        server: The same of its other pods.
        least: Workers it needs to run at all.
        most: Workers it can use.
        servers: Other pods it has whenever it runs: parameter servers, a launcher.
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
    def worth(self) -> UtilityCurve:
        """The utility as a value.

        Raises:
            InputError: The text cannot be used.
        """
        return training_spec.utility_of(self.utility)

    @cached_property
    def work(self) -> Training:
        """The training as a value.

        Raises:
            InputError: The text cannot be used.
        """
        return training_spec.training_of(self.training)


class SlotPlan(Struct, frozen=True, omit_defaults=True):
    """What an admitted job was promised; slots are counted since the epoch.

    Attributes:
        job: The job.
        asked: What it is.
        slot_seconds: Length of the slots it was made for.
        arrival: Slot in which the job came.
        late_seconds: How long after the beginning of that slot.
        promise: Slot by whose end it was to be done, when it was admitted. Never changed.
        completion: The same by the present plan.
        utility: What completing then is worth.
        bill: What its resources cost.
        spans: When it runs where, in order; pauses lie between them. Those that are over are left
            out when it is planned anew.
        done: Share of the training that was done when the plan was last changed, 0…1.
        since: Slot from which the spans count.
        owner: Who carries it; what is copied to another object says nothing.
    """

    job: JobKey
    asked: JobRequest
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
        """Return what is planned for a slot; None: nothing runs."""
        return next((span for span in self.spans if span.first <= slot <= span.last), None)

    def workers_at(self, slot: int) -> int:
        """Return how many workers run in a slot."""
        span = self.at(slot)
        return 0 if span is None else sum(span.workers.values())


@dataclass(frozen=True)
class OwnedPlan:
    """An owner, and the plan that it carries."""

    owner: Owner
    plan: SlotPlan


def plans_by_job(snapshot: Snapshot) -> Mapping[JobKey, OwnedPlan]:
    """Return the plans by job, those of suspended jobs too, in order of arrival.

    What cannot be read is not there, nor what another owner carries than one of the job's own; of
    two that carry one the older counts.
    """
    found: dict[JobKey, OwnedPlan] = {}
    noted = snapshot.owners.annotated(labels.SLOT_PLAN)
    for owner in sorted(noted, key=lambda one: (one.created_at, one.key)):
        try:
            plan = read(owner)
        except InputError:
            continue
        if plan is not None and _counts(snapshot, owner, plan):
            found.setdefault(plan.job, OwnedPlan(owner, plan))
    return found


def _counts(snapshot: Snapshot, owner: Owner, plan: SlotPlan) -> bool:
    """Return True if a plan is on a deciding owner of the job.

    Of a job without pods it must be on the owner that we paused, or on one over it.
    """
    if plan.job in snapshot.jobs:
        heard = job_views.view(snapshot, plan.job).deciding_owners
    else:
        paused = rescale.rescale_records(snapshot).by_job.get(plan.job)
        heard = from_owner(snapshot, paused.owner) if paused is not None else (owner,)
    return any(one.uid == owner.uid for one in heard)


_BOUNDS: Final = bounds(SlotTimeParameters)


def slot_at(now: float, slot_seconds: float) -> int:
    """Return the number of the slot in which ``now`` lies, counted since the epoch."""
    return int(now // slot_seconds)


def begins_at(slot: int, slot_seconds: float) -> float:
    """Return when a slot begins, seconds since the epoch."""
    return slot * slot_seconds


MOST_PODS: Final = 1_000_000
"""Of a job: no cluster has more."""


MOST_WORTH: Final = 1e300


LAST_SLOT: Final = 10**11
"""Since the epoch: with slots of a second some thousand years."""


_DECODER = msgspec.json.Decoder(SlotPlan)


def read(owner: Owner) -> SlotPlan | None:
    """Return what the owner's annotation says; None if it has none.

    Raises:
        InputError: Something else has written there.
    """
    found = annotations.read(owner, labels.SLOT_PLAN, _DECODER)
    if found is not None:
        _check(found)
    return found


def _check(plan: SlotPlan) -> None:
    """See that the plan can be looked at: whoever may annotate the owner can write one.

    Raises:
        InputError: It says what no plan of ours does.
    """
    low, high = _BOUNDS["slot_seconds"]
    asked, spans, numbers = plan.asked, plan.spans, (plan.utility, plan.bill, plan.late_seconds)
    slots = [plan.arrival, plan.promise, plan.completion, plan.since]
    slots += [slot for span in spans for slot in (span.first, span.last)]
    for name, right, expected in (
        ("asked.utility", bool(asked.worth), "a utility"),
        ("asked.training", asked.work.complete, "complete"),
        ("asked", 1 <= asked.least <= asked.most <= MOST_PODS, "least and most workers from 1"),
        ("asked.servers", 0 <= asked.servers <= MOST_PODS, "a number of pods"),
        ("slot_seconds", low <= plan.slot_seconds <= high, f"from {low:g} to {high:g}"),
        ("done", 0.0 <= plan.done <= 1.0, "from 0 to 1"),
        ("utility", all(abs(one) <= MOST_WORTH for one in numbers), "a number of that size"),
        ("spans", all(map(_is_right, spans)), "slots of our horizon, with pods on each node"),
        ("arrival", all(0 <= slot <= LAST_SLOT for slot in slots), "slots since the epoch"),
    ):
        if not right:
            raise InputError(f"{name} of annotation {labels.SLOT_PLAN}", text(plan), expected)


def _is_right(span: Span) -> bool:
    pods = (*span.workers.values(), *span.servers.values())
    slots = span.last - span.first
    return 0 <= slots < _BOUNDS["horizon"][1] and all(0 <= n <= MOST_PODS for n in pods)


def text(plan: SlotPlan) -> str:
    """Return the annotation."""
    return msgspec.json.encode(plan).decode()
