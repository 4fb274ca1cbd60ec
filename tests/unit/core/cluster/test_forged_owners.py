"""No field of a pod makes us write to an owner that did not ask for it (defect A1).

Each way to write to an owner is tried from another namespace, and from the owner's own namespace by
an author of pods without the right to change the owner.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace as changed

import pytest
from msgspec.structs import replace

from extender.core.agents import requests
from extender.core.cluster import job_views
from extender.core.cluster.owners import above
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic import decision
from extender.core.elastic import proposals as elastic_proposals
from extender.core.elastic.decision import ElasticDecision, ElasticTrigger
from extender.core.elastic.state import ElasticState
from extender.core.migration.commands import ResumeJob, SuspendJob, WriteStatus
from extender.core.migration.decision import MIGRATION, MigrationState, MigrationTrigger
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.migration import (
    MigrationParameters,
    RebalanceParameters,
    RebalanceWhen,
)
from extender.core.pricing.decision import PRICING, PricingTrigger
from extender.core.pricing.outcome import PricingState
from extender.core.records import profile, slot_plan
from extender.core.records import rescale as records_rescale
from extender.core.records.profile import Profile
from extender.core.records.rescale import Cause, Phase, Proposal, Rescale
from shared import labels
from shared.model import (
    Entity,
    JobKey,
    MigrationPhase,
    Mover,
    NodeName,
    Owner,
    OwnerReference,
    Pod,
    Uid,
)
from shared.progress import Category, Checkpoint, PodReport
from tests.fakes.builders import make_node, make_owner, make_pod, reference_to
from tests.fakes.migrations import make_member, make_migration
from tests.fakes.reports import make_pod_report, make_report
from tests.unit.core.cluster import forging
from tests.unit.core.cluster.forging import KEYS, deployment, honest, pods, stateful_set
from tests.unit.core.clusters import store_of
from tests.unit.core.pricing import priced_cluster

NOW = Reading(priced_cluster.START, 50.0)
PARAMS = changed(priced_cluster.params(share=0.5), rescaling=changed(CoreParameters().rescaling))
NODES = [make_node("a", cpu="64"), make_node("b", cpu="64")]
OTHER = {"app": "another"}


def forged_elsewhere(owner: Owner, **more: object) -> list[Pod]:
    """In another namespace: labels, controller reference and annotations are as they should be."""
    return pods(owner, 5, namespace="evil", annotations=KEYS, **more)  # type: ignore[arg-type]


def forged_beside(owner: Owner, **more: object) -> list[Pod]:
    """In the owner's namespace, with the right to create pods alone."""
    return pods(owner, 5, prefix="x", annotations=KEYS, **more)  # type: ignore[arg-type]


def forged_unselected(owner: Owner, **more: object) -> list[Pod]:
    """The same, with labels that the owner's controller does not select."""
    return pods(owner, 5, prefix="x", annotations=KEYS, marks=OTHER, **more)  # type: ignore[arg-type]


FORGERS = {
    "from another namespace": forged_elsewhere,
    "from the same namespace": forged_beside,
    "with labels that the owner does not select": forged_unselected,
}
OWNERS: dict[str, Callable[..., Sequence[Owner]]] = {
    "Job": lambda **of: [forging.job(**of)],
    "StatefulSet": lambda **of: [stateful_set(**of)],
    "Deployment": deployment,
}
"""The owner of the pods in front, then those over it."""


def cluster(*entities: Entity | Sequence[Entity]) -> Snapshot:
    flat = [e for one in entities for e in (one if isinstance(one, list | tuple) else [one])]
    store = store_of(NODES, flat)
    checkpoint = Checkpoint(save_seconds=1.0)
    for node in ("a", "b"):
        here = [e for e in flat if isinstance(e, Pod) and e.node_name == node]
        reports = [_report(pod, checkpoint) for pod in here]
        store.report(make_report(node, reports, received_at=NOW.monotonic))
    return store.snapshot()


def _report(pod: Pod, checkpoint: Checkpoint) -> PodReport:
    """Those that ask to be moved have converged; the others would profit from that."""
    if labels.CHECKPOINT not in pod.annotations:
        return make_pod_report(pod.uid, Category.PROGRESSING, checkpoint=checkpoint)
    return make_pod_report(pod.uid, Category.CONVERGED, checkpoint=checkpoint, converged_at=1.0)


def rescaled(snapshot: Snapshot, to: int) -> decision.ElasticOutcome:
    """A look to which it is proposed that every job has so many workers."""
    proposals = tuple(Proposal(key, to, Cause.SAVES_TIME) for key in sorted(snapshot.jobs))
    session = Session(snapshot, NOW, PARAMS)
    decision = ElasticDecision(lambda *_: proposals)
    return decision.decide(session, ElasticState(), ElasticTrigger(due=True))


def admitted(snapshot: Snapshot) -> list[Owner]:
    look = PRICING.decide(Session(snapshot, NOW, PARAMS), PricingState(), PricingTrigger())
    return [command.owner for command in look.commands]


@pytest.mark.parametrize("to", [1, 5])
@pytest.mark.parametrize("made", OWNERS.values(), ids=OWNERS)
@pytest.mark.parametrize("forge", FORGERS.values(), ids=FORGERS)
def test_no_number_of_workers_is_changed_for_forged_pods(forge, made, to) -> None:
    owners = made()
    own = pods(owners[0], 2, scheduler_name="default-scheduler")
    look = rescaled(cluster(owners, own, forge(owners[0])), to)
    assert (look.commands, look.marks) == ((), ())


@pytest.mark.parametrize("made", OWNERS.values(), ids=OWNERS)
def test_the_number_of_an_owner_whose_template_asks_for_it_is_changed(made) -> None:
    owners = made(template=KEYS)
    (command,) = rescaled(cluster(owners, honest(pods(owners[0]))), 5).commands
    assert (command.owner, command.namespace) == (owners[-1], "prod")
    assert {number for _, number in command.fields} == {5}


@pytest.mark.parametrize("made", OWNERS.values(), ids=OWNERS)
@pytest.mark.parametrize("forge", FORGERS.values(), ids=FORGERS)
def test_no_slot_plan_is_written_for_forged_pods(forge, made) -> None:
    owners = made()
    assert admitted(cluster(owners, forge(owners[0], gated=True))) == []


@pytest.mark.parametrize("made", OWNERS.values(), ids=OWNERS)
def test_a_slot_plan_is_written_on_an_owner_whose_template_asks_for_it(made) -> None:
    owners = made(template=KEYS)
    waiting = honest(pods(owners[0], gated=True))
    sized = [
        replace(pod, annotations={**pod.annotations, labels.MIN_AVAILABLE: "2"}) for pod in waiting
    ]
    assert admitted(cluster(owners, sized)) == [owners[-1]]


@pytest.mark.parametrize("forge", FORGERS.values(), ids=FORGERS)
def test_no_profile_run_is_written_for_forged_pods(forge) -> None:
    victim = forging.job()
    unmeasured = {**KEYS, labels.TRAINING: "epochs=1,chunks=2,batches=10000"}
    made = forge(victim, gated=True)
    forged = [replace(pod, annotations={**pod.annotations, **unmeasured}) for pod in made]
    assert admitted(cluster(victim, forged)) == []
    asks = forging.job(template=unmeasured)
    waiting = [replace(pod, annotations=unmeasured) for pod in pods(asks, gated=True)]
    assert admitted(cluster(asks, waiting)) == [asks]


MIGRATING = MigrationParameters(rebalance=RebalanceParameters(when=RebalanceWhen.NEVER))
BESIDE = [make_pod(f"f{i}", node="a", plan="p", memory="0") for i in range(2)]
"""Jobs that would profit if the others left."""


def migrations(snapshot: Snapshot) -> list[Owner | OwnerReference | None]:
    look = MIGRATION.decide(
        Session(snapshot, NOW, CoreParameters(migration=MIGRATING)),
        MigrationState(),
        MigrationTrigger(choose=True),
    )
    return [c.migration.owner for c in look.commands if hasattr(c, "migration")]


@pytest.mark.parametrize("made", [forging.job, stateful_set], ids=["Job", "StatefulSet"])
@pytest.mark.parametrize("forge", FORGERS.values(), ids=FORGERS)
def test_no_migration_begins_for_forged_pods(forge, made) -> None:
    victim = made(size=1)
    noted = [
        replace(p, annotations={**p.annotations, labels.MIN_AVAILABLE: "1"}) for p in forge(victim)
    ]
    assert migrations(cluster(victim, noted[:1], BESIDE)) == []


def test_a_job_whose_template_names_a_checkpoint_is_suspended() -> None:
    owner = forging.job(template=KEYS, size=1)
    assert migrations(cluster(owner, honest(pods(owner, 1)), BESIDE)) == [reference_to(owner)]


@pytest.mark.parametrize("phase", [MigrationPhase.CHECKPOINTED, MigrationPhase.EVICTING])
def test_a_migration_of_another_namespace_suspends_and_resumes_no_job(phase) -> None:
    victim = forging.job(size=1)
    (pod,) = pods(victim, 1, namespace="evil", annotations=KEYS)
    one = make_migration(
        make_member(pod), owner=victim, mover=Mover.SUSPEND, phase=phase, job="evil/job/db",
        deadline=NOW.now + 100, hold_until=NOW.now + 100, ask_until=NOW.now + 100, request="r",
    )  # fmt: skip
    look = MIGRATION.decide(
        Session(
            cluster(victim, pod, replace(one, namespace="evil")),
            NOW,
            CoreParameters(migration=MIGRATING),
        ),
        MigrationState(),
        MigrationTrigger(choose=False),
    )
    actions = [a for c in look.commands if isinstance(c, WriteStatus) for a in c.actions]
    assert not [a for a in (*look.commands, *actions) if isinstance(a, SuspendJob | ResumeJob)]


def test_a_suspended_job_is_not_resumed_for_a_migration_of_another_namespace() -> None:
    victim = forging.job()
    suspended = replace(
        victim,
        suspended=True,
        job=replace(victim.job, suspended=True),
        annotations={labels.MIGRATION: "evil/gone"},
    )
    look = MIGRATION.decide(
        Session(cluster(suspended), NOW, CoreParameters(migration=MIGRATING)),
        MigrationState(),
        MigrationTrigger(choose=False),
    )
    assert look.commands == ()


def rescale(owner: Owner, job: str, asked: Sequence[Pod] = (), phase: Phase = Phase.ASKED) -> str:
    """A record that its owner carries about some job."""
    return records_rescale.text(
        Rescale(
            id="r", phase=phase, cause=Cause.SLOWS, before=2, to=1, at=NOW.now - 10,
            since=NOW.now - 10, asked=tuple(p.uid for p in asked), ask_until=NOW.now + 100,
            hold_until=NOW.now + 200, job=JobKey(job), owner=owner.uid,
        )
    )  # fmt: skip


def test_pods_that_are_not_of_the_changing_owner_are_neither_marked_nor_counted() -> None:
    below, top = deployment(template=KEYS, size=3)
    asks = replace(
        top, annotations={labels.RESCALE: rescale(top, "prod/group/g", phase=Phase.ASKED)}
    )
    asks = replace(asks, counts=(replace(asks.counts[0], count=2),))
    marks = {labels.JOB: "g"}
    own = pods(below, 2, marks=marks, created_at=10.0)
    forged = pods(below, 3, prefix="x", marks={**OTHER, labels.JOB: "g"}, created_at=20.0)
    elsewhere = pods(below, 3, prefix="y", namespace="evil", marks=marks, created_at=20.0)
    look = rescaled(cluster(below, asks, own, forged, elsewhere), 2)
    assert {mark.pod for mark in look.marks} <= {pod.key for pod in own}
    assert look.marks


def test_a_record_of_an_owner_without_pods_in_the_job_requests_nothing() -> None:
    owner = forging.job(template=KEYS)
    own = honest(pods(owner))
    mine = make_owner("mine", namespace="prod")
    mine = replace(mine, annotations={labels.RESCALE: rescale(mine, "prod/job/db", own)})
    assert list(requests.orders(cluster(owner, own, mine), NodeName("a"))) == []
    asks = replace(owner, annotations={labels.RESCALE: rescale(owner, "prod/job/db", own[:1])})
    ((ask, holds),) = requests.orders(cluster(asks, own), NodeName("a"))
    assert (ask.uid, holds) == (own[0].uid, True)


def plan(owner: Owner, job: str) -> str:
    asked = slot_plan.JobRequest(
        utility=KEYS[labels.UTILITY], training=KEYS[labels.TRAINING],
        worker=make_pod().shape, least=1, most=5, shrinks=True, pauses=True,
    )  # fmt: skip
    slot = int(NOW.now // priced_cluster.SLOT)
    return slot_plan.text(
        slot_plan.SlotPlan(
            job=JobKey(job), request=asked, slot_seconds=priced_cluster.SLOT, arrival=slot,
            promise=slot + 5, completion=slot + 5, utility=1.0, bill=0.0, owner=owner.uid,
            since=slot, spans=(slot_plan.Span(slot, slot + 5, {NodeName("a"): 5}),),
        )
    )  # fmt: skip


def test_a_slot_plan_counts_on_an_owner_of_the_job_alone() -> None:
    owner = forging.job(template=KEYS)
    mine = make_owner("mine", namespace="prod")
    mine = replace(mine, annotations={labels.SLOT_PLAN: plan(mine, "prod/job/db")})
    forged = cluster(owner, honest(pods(owner)), mine)
    assert (
        slot_plan.plans_by_job(forged),
        elastic_proposals.slot_plan_proposals(Session(forged, NOW, PARAMS)),
    ) == ({}, ())
    asks = replace(owner, annotations={labels.SLOT_PLAN: plan(owner, "prod/job/db")})
    asking = cluster(asks, honest(pods(asks)))
    found = elastic_proposals.slot_plan_proposals(Session(asking, NOW, PARAMS))
    assert [(one.job, one.to) for one in found] == [("prod/job/db", 5)]


def test_a_slot_plan_for_a_paused_job_counts_on_the_owner_that_was_paused_alone() -> None:
    done = rescale(forging.job(), "prod/job/db", phase=Phase.DONE)
    paused = replace(forging.job(), suspended=True, annotations={labels.RESCALE: done})
    mine = make_owner("mine", namespace="prod")
    mine = replace(mine, annotations={labels.SLOT_PLAN: plan(mine, "prod/job/db")})
    assert slot_plan.plans_by_job(cluster(paused, mine)) == {}
    notes = {**paused.annotations, labels.SLOT_PLAN: plan(paused, "prod/job/db")}
    assert set(slot_plan.plans_by_job(cluster(replace(paused, annotations=notes)))) == {
        "prod/job/db"
    }


def test_a_profile_run_counts_on_an_owner_of_the_job_alone() -> None:
    owner = forging.job(template=KEYS)
    text = profile.text(Profile(job=JobKey("prod/job/db")))
    mine = make_owner("mine", namespace="prod", annotations={labels.PROFILE: text})
    assert profile.profile_runs(cluster(owner, honest(pods(owner)), mine)) == {}
    asks = replace(owner, annotations={labels.PROFILE: text})
    assert set(profile.profile_runs(cluster(asks, honest(pods(asks))))) == {"prod/job/db"}


def test_an_owner_that_joins_a_job_of_several_says_nothing_of_the_workers_of_another() -> None:
    """A label puts pods into a job: it changes neither their owners nor whose annotations count."""
    marks = {labels.JOB: "g"}
    victim = stateful_set()
    joining = replace(stateful_set(template=KEYS), name="mine", uid=Uid("mine"))
    snapshot = cluster(
        [victim, joining],
        pods(victim, 2, marks={**marks, labels.ROLE: "worker"}),
        pods(joining, 2, prefix="m", marks={**marks, labels.ROLE: "ps"}, annotations=KEYS),
    )
    assert job_views.view(snapshot, JobKey("prod/group/g")).spec.workers is None
    assert [c.owner.name for c in rescaled(snapshot, 5).commands if c.owner.uid == victim.uid] == []


REFERENCES = {
    "another name": {"name": "other"},
    "another kind": {"kind": "Job"},
    "another API group": {"api_version": "batch.volcano.sh/v1alpha1"},
    "another uid": {"uid": Uid("none")},
}


@pytest.mark.parametrize("wrong", REFERENCES.values(), ids=REFERENCES)
def test_a_reference_that_differs_from_the_owner_leads_to_none(wrong) -> None:
    victim = stateful_set()
    reference = changed_reference(reference_to(victim), **wrong)
    (pod,) = pods(victim, 1, reference=reference)
    assert above(cluster(victim, pod), pod).owners == ()


def changed_reference(reference: OwnerReference, **fields: object) -> OwnerReference:
    return replace(reference, **fields)


def test_the_chain_of_owners_does_not_leave_its_namespace_at_any_step() -> None:
    top = make_owner("top", kind="JobSet", api_version="jobset.x-k8s.io/v1alpha2", namespace="prod")
    below = make_owner("below", namespace="evil", controller=top)
    pod = make_pod(namespace="evil", owner=below)
    assert above(cluster(top, below, pod), pod).owners == (below,)


def test_what_a_pod_states_without_effect_is_reported() -> None:
    victim = stateful_set()
    snapshot = cluster(victim, pods(victim, 2, annotations={labels.WORKERS: "1..5"}))
    (line,) = job_views.view(snapshot, JobKey("prod/statefulset/db")).warnings
    assert line == (
        "annotation shuntyard.io/workers on the pod has no effect: "
        "set it on StatefulSet db or in its pod template"
    )
    asks = stateful_set(template={labels.WORKERS: "1..5"})
    snapshot = cluster(asks, pods(asks, 2, annotations={labels.WORKERS: "1..5"}))
    assert job_views.view(snapshot, JobKey("prod/statefulset/db")).warnings == ()
