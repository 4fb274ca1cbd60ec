"""What namespaces hold and may expect by annotations, pods, reservations; what waits for quota."""

import pytest

from extender.core.cluster import job_views
from extender.core.cluster.commands import EmitEvent, ReleaseGang
from extender.core.cluster.session import Reading, Session
from extender.core.explain import namespaces
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import BackfillParameters, FairShareParameters
from extender.core.queue import namespace_shares
from extender.core.queue.fair_share import Entitlement
from extender.core.queue.state import QueueState
from extender.core.scheduler import filtering
from shared import labels
from shared.model import JobKey
from tests.fakes.builders import make_gang, make_namespace, make_node, make_pod, make_quota
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, released_job, snapshot_of

ON = CoreParameters(fair_share=FairShareParameters(enabled=True))
NODE = make_node("n", cpu="10", memory="100Gi")


def noted(weight="", guaranteed="", limit=""):
    says = {
        labels.WEIGHT: weight,
        labels.GUARANTEED_SHARE: guaranteed,
        labels.BORROWING_LIMIT: limit,
    }
    return {key: text for key, text in says.items() if text}


STATED = {
    "no annotation": ([], Entitlement()),
    "the namespace says": (
        [make_namespace(annotations=noted("2.5", "0.25", "0"))],
        Entitlement(2.5, 0.25, 0.0),
    ),
    "a quota says": ([make_quota(annotations=noted("3"))], Entitlement(3.0)),
    "each word of the namespace wins alone": (
        [
            make_namespace(annotations=noted("3")),
            make_quota(annotations=noted("9", "0.5")),
        ],
        Entitlement(3.0, 0.5),
    ),
    "of several quotas the largest share and the smallest limit": (
        [
            make_quota("a", annotations=noted("2", "0.1", "0.5")),
            make_quota("b", annotations=noted("1", "0.3", "0.2")),
        ],
        Entitlement(2.0, 0.3, 0.2),
    ),
    "another namespace's are not ours": (
        [make_namespace("other", annotations=noted("2"))],
        Entitlement(),
    ),
}


@pytest.mark.parametrize(("entities", "want"), STATED.values(), ids=STATED.keys())
def test_an_entitlement_is_read_from_annotations(entities, want):
    assert namespace_shares.entitlement("default", snapshot_of(*entities)) == (want, "")


BAD = {
    "a weight of nothing": (noted("0"), labels.WEIGHT, "'0'", "from 0.001 to 1000"),
    "a word": (noted("heavy"), labels.WEIGHT, "'heavy'", "from 0.001 to 1000"),
    "a share in percent": (noted("", "30%"), labels.GUARANTEED_SHARE, "'30%'", "from 0 to 1"),
    "more than the cluster": (noted("", "1.5"), labels.GUARANTEED_SHARE, "'1.5'", "from 0 to 1"),
    "less than nothing": (noted("", "", "-0.1"), labels.BORROWING_LIMIT, "'-0.1'", "from 0 to 1"),
    "not a number": (noted("", "", "nan"), labels.BORROWING_LIMIT, "'nan'", "from 0 to 1"),
}


@pytest.mark.parametrize(("notes", "key", "value", "expected"), BAD.values(), ids=BAD.keys())
def test_an_unusable_value_is_named_and_the_default_counts(notes, key, value, expected):
    found, problem = namespace_shares.entitlement(
        "default", snapshot_of(make_namespace(annotations=notes))
    )
    assert found == Entitlement()
    assert all(text in problem for text in (key, "namespace default", value, expected))


@pytest.mark.parametrize("params", [ON, CoreParameters()], ids=["on", "off"])
def test_an_event_on_the_waiting_job_names_it_if_fair_share_is_on(params):
    space = make_namespace(annotations=noted("heavy", "", "much"))
    outcome = decided([NODE, space, *queued_job("train", 1)], params)
    events = [c for c in outcome.commands if isinstance(c, EmitEvent)]
    assert [c.reason for c in events] == (["AnnotationIgnored"] if params is ON else [])
    assert all("'heavy'" in c.message and "'much'" in c.message for c in events)


def decided(entities, params=ON, at=100.0):
    return queue_pass(snapshot_of(*entities), QueueState(), Reading(at, at), params)


def held(*entities):
    snapshot = snapshot_of(NODE, *entities)
    (entry,) = namespaces(Session(snapshot, Reading(0, 0), ON), None, acting=True).entries
    return entry.held.get("cpu", 0)


COUNTS = {
    "a bound pod": ([make_pod(node="n")], 1000),
    "a pod that waits does not": ([make_pod(gated=True)], 0),
    "a reservation": (released_job("train", ["n", "n"]), 2000),
    "a pod that was released without a pin": ([make_pod(plan="p")], 1000),
    "one that is being deleted": ([make_pod(node="n", deleting=True)], 1000),
    "one that was never bound, and is being deleted, does not": (
        [make_pod(plan="p", deleting=True)],
        0,
    ),
    "one that has finished does not": ([make_pod(node="n", phase="Succeeded")], 0),
}


@pytest.mark.parametrize(("entities", "want"), COUNTS.values(), ids=COUNTS.keys())
def test_what_counts_as_held(entities, want):
    assert held(*entities) == want


def test_pods_of_other_schedulers_count_for_no_namespace():
    foreign = make_pod(node="n", scheduler_name="default-scheduler")
    answer = namespaces(Session(snapshot_of(NODE, foreign), Reading(0, 0), ON), None, acting=True)
    assert answer.entries == ()


def waits(*entities, params=ON, limit="0.5"):
    """Why each job waits; empty if it is released."""
    space = make_namespace(annotations=noted("", "", limit))
    outcome = decided([NODE, space, *entities], params)
    gone = {c.job for c in outcome.commands if isinstance(c, ReleaseGang)}
    return {e.job.name: "" if e.job.key in gone else str(e.reason) for e in outcome.entries}


def test_a_job_waits_for_quota_or_exceeds_it_for_ever():
    running = released_job("runs", ["n"] * 3, bound=3)
    found = waits(*running, *queued_job("a", 2), *queued_job("b", 3), *queued_job("c", 6))
    assert found == {"a": "", "b": "WaitingForQuota", "c": "ExceedsMaxQuota"}


def test_a_job_that_never_fits_its_quota_gets_a_warning_at_once():
    space = make_namespace(annotations=noted("", "", "0.5"))
    outcome = decided([NODE, space, *queued_job("c", 6, created_at=100.0)])
    event, *others = [c for c in outcome.commands if isinstance(c, EmitEvent)]
    assert (event.about.kind, event.reason, event.warning) == ("Job", "ExceedsMaxQuota", True)
    assert {other.about.kind for other in others} == {"Pod"}


def test_without_fair_share_a_limit_has_no_effect():
    assert waits(*queued_job("c", 6), params=CoreParameters()) == {"c": ""}


def test_other_obstacles_are_reported_before_quota():
    found = waits(
        *queued_job("c", 7)[:4], *queued_job("bad", 9, annotations={labels.MAX_WAIT: "?"})
    )
    assert found == {"c": "GangIncomplete", "bad": "Misconfigured"}


def test_a_gang_that_needs_fewer_gets_as_many_members_as_its_namespace_may_hold():
    pods = make_gang("train", workers=8, gated=True, annotations={labels.MIN_AVAILABLE: "2"})
    space = make_namespace(annotations=noted("", "", "0.5"))
    outcome = decided([NODE, space, *pods])
    (gang,) = [c for c in outcome.commands if isinstance(c, ReleaseGang)]
    assert len(gang.pods) == 5


def test_a_gang_that_lost_a_member_is_completed_beyond_the_limit():
    owner, *pods = released_job("train", ["n"] * 5, bound=5, size=6)
    again = make_pod("train-new", owner=owner, index=5, gated=True)
    assert waits(owner, *pods, again) == {"train": ""}


def test_no_room_is_kept_for_a_job_that_waits_for_quota():
    params = CoreParameters(
        fair_share=FairShareParameters(enabled=True),
        waiting=BackfillParameters(default_max_wait_seconds=1.0),
    )
    running = released_job("runs", ["n"] * 4, bound=4)
    other = queued_job("other", 1, namespace="elsewhere")
    outcome = decided(
        [
            NODE,
            make_namespace(annotations=noted("", "", "0.5")),
            *running,
            *queued_job("large", 2),
            *queued_job("small", 1, created_at=99.5),
            *other,
        ],
        params,
    )
    assert outcome.backfill_head is None
    found = {e.job.name: str(e.reason) for e in outcome.entries}
    assert found["large"] == "WaitingForQuota"
    assert found["small"] == "BehindReservation"  # its own namespace's quota is kept


def test_the_table_of_namespaces():
    space = make_namespace(annotations=noted("2", "0.125", "0.25"))
    running = released_job("runs", ["n"] * 2, bound=1, memory="50Gi")
    snapshot = snapshot_of(NODE, space, *running, *queued_job("waits", 9))
    outcome = queue_pass(snapshot, QueueState(), Reading(100, 100), ON)
    (entry,) = namespaces(Session(snapshot, Reading(100, 100), ON), outcome, acting=True).entries
    assert (entry.waiting, entry.running, entry.share) == (1, 1, 1.0)
    assert entry.held == {"cpu": 2000, "memory": 100 * 2**30, "pods": 2}
    assert (entry.weight, entry.guaranteed_share, entry.limit) == (2.0, 0.125, 0.375)


def test_the_share_with_a_job_counts_what_its_gang_needs():
    snapshot = snapshot_of(NODE, *queued_job("train", 3))
    shares = namespace_shares.shares(snapshot, ON)
    job = job_views.view(snapshot, JobKey("default/job/train"))
    assert shares.share_with(job) == pytest.approx(0.3)


def judged(pod, *entities, params=ON):
    snapshot = snapshot_of(NODE, make_namespace(annotations=noted("", "", "0.2")), *entities, pod)
    return filtering.filter_nodes(snapshot, pod, ["n"], params)


SINGLE = make_pod("single", cpu="2")
RUNS = make_pod("runs", node="n")


def test_a_single_pod_without_our_gate_is_refused_beyond_the_limit():
    assert judged(SINGLE, RUNS).nowhere == filtering.NO_QUOTA
    assert judged(SINGLE).passed == ("n",)
    assert judged(SINGLE, RUNS, params=CoreParameters()).passed == ("n",)


def test_a_pod_released_without_a_pin_is_not_refused():
    loose = make_pod("loose", cpu="2", plan="p", plan_size=1)
    assert judged(loose, RUNS).passed == ("n",)
