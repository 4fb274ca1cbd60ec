"""What claimed volumes mean for the nodes a pod may use."""

import pytest

from extender.core.cluster import pod_shape
from extender.core.cluster.commands import ReleaseGang, ReleasePod
from extender.core.cluster.session import Reading
from extender.core.nodes.feasibility import accepts
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState
from extender.core.scheduler import filtering
from shared.model import Entity, Requirement
from tests.fakes.builders import make_claim, make_node, make_pod, make_shape, make_term, make_volume
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, released_job, snapshot_of

ZONE_A = make_term(Requirement("zone", "In", ("a",)))
ZONE_B = make_term(Requirement("zone", "In", ("b",)))
FAST = make_term(Requirement("disk", "In", ("ssd",)))
SHARED = make_claim(volume="disk")
EVERYWHERE = make_volume("disk")

MODELLED = {
    "bound, for many nodes, without affinity": ([SHARED, EVERYWHERE], ()),
    "bound, for many nodes, with affinity": ([SHARED, make_volume("disk", affinity=[ZONE_A])], ()),
    "unbound": ([make_claim(), EVERYWHERE], ("volumes",)),
    "unknown": ([EVERYWHERE], ("volumes",)),
    "of another namespace": ([make_claim(namespace="x", volume="disk"), EVERYWHERE], ("volumes",)),
    "its volume unknown": ([SHARED], ("volumes",)),
    "being deleted": ([make_claim(volume="disk", deleting=True), EVERYWHERE], ("volumes",)),
    "for one node": ([make_claim(volume="disk", many_nodes=False), EVERYWHERE], ("volumes",)),
    "labelled with a zone": ([SHARED, make_volume("disk", zonal=True)], ("volumes",)),
    "affine to a node by its name": (
        [
            SHARED,
            make_volume(
                "disk", affinity=[make_term(fields=[Requirement("metadata.name", "In", ("a",))])]
            ),
        ],
        ("volumes",),
    ),
}


@pytest.mark.parametrize(("objects", "wanted"), MODELLED.values(), ids=MODELLED)
def test_what_is_modelled_of_a_claim(objects, wanted: tuple[str, ...]) -> None:
    assert pod_shape.unmodelled(snapshot_of(objects), make_pod(claims=["data"])) == wanted


def test_one_claim_that_is_not_modelled_is_enough() -> None:
    pod = make_pod(claims=["data", "more"])
    assert pod_shape.unmodelled(snapshot_of(SHARED, EVERYWHERE), pod) == ("volumes",)


def test_what_else_is_not_modelled_stays_so() -> None:
    shape = make_shape(unmodelled=["podAffinity"])
    snapshot = snapshot_of(SHARED, EVERYWHERE)
    assert pod_shape.unmodelled(snapshot, make_pod(shape=shape)) == ("podAffinity",)
    pods = [make_pod(shape=shape, claims=[name]) for name in ("data", "unknown")]
    found = [pod_shape.unmodelled(snapshot, pod) for pod in pods]
    assert found == [("podAffinity",), ("podAffinity", "volumes")]


def test_the_names_of_claims_do_not_split_an_equivalence_class() -> None:
    claims = [make_claim(f"data-{i}", volume=f"disk-{i}") for i in range(3)]
    snapshot = snapshot_of(claims, [make_volume(f"disk-{i}") for i in range(3)])
    pods = [make_pod(f"pod-{i}", claims=[f"data-{i}"]) for i in range(3)]
    shapes = [pod_shape.shape(snapshot, pod) for pod in pods]
    assert all(shape is pod.shape for shape, pod in zip(shapes, pods, strict=True))
    assert len(set(shapes)) == 1


NODES = [
    make_node("a-hdd", labels={"zone": "a"}),
    make_node("a-ssd", labels={"zone": "a", "disk": "ssd"}),
    make_node("b-hdd", labels={"zone": "b"}),
    make_node("b-ssd", labels={"zone": "b", "disk": "ssd"}),
]
AFFINITIES = {
    "the volume's alone": (None, [[ZONE_A]], ["a-hdd", "a-ssd"]),
    "the pod's and the volume's": ([FAST], [[ZONE_A]], ["a-ssd"]),
    "one of several of each": ([ZONE_A, FAST], [[ZONE_B, FAST]], ["a-ssd", "b-ssd"]),
    "those of two volumes": (None, [[ZONE_B], [FAST]], ["b-ssd"]),
    "two volumes apart": (None, [[ZONE_A], [ZONE_B]], []),
    "the same of two volumes": (None, [[ZONE_A], [ZONE_A]], ["a-hdd", "a-ssd"]),
    "an empty term matches nothing": ([make_term()], [[ZONE_A]], []),
    "a list without terms matches nothing": (None, [[]], []),
}


@pytest.mark.parametrize(("own", "volumes", "wanted"), AFFINITIES.values(), ids=AFFINITIES)
def test_a_pod_goes_where_all_its_volumes_are_reached(own, volumes, wanted: list[str]) -> None:
    names = [f"disk-{i}" for i in range(len(volumes))]
    snapshot = snapshot_of(
        [make_claim(name, volume=name) for name in names],
        [make_volume(n, affinity=terms) for n, terms in zip(names, volumes, strict=True)],
    )
    shape = pod_shape.shape(snapshot, make_pod(shape=make_shape(affinity=own), claims=names))
    assert shape.unmodelled == ()
    assert [node.name for node in NODES if accepts(shape, node)] == wanted


def test_too_many_combinations_are_not_modelled() -> None:
    names = [f"disk-{i}" for i in range(7)]
    terms = {n: [make_term(Requirement(n, "Exists")), ZONE_A, ZONE_B] for n in names}
    snapshot = snapshot_of(
        [make_claim(name, volume=name) for name in names],
        [make_volume(name, affinity=terms[name]) for name in names],
    )
    assert pod_shape.unmodelled(snapshot, make_pod(claims=names)) == ("volumes",)
    assert pod_shape.unmodelled(snapshot, make_pod(claims=names[:3])) == ()


def released(*entities: Entity | list[Entity]) -> list[ReleasePod]:
    """What a cycle releases."""
    cycle = queue_pass(snapshot_of(*entities), QueueState(), Reading(1.0, 1.0), CoreParameters())
    return [pod for one in cycle.commands if isinstance(one, ReleaseGang) for pod in one.pods]


def test_a_gang_on_a_shared_volume_is_pinned() -> None:
    pods = released(NODES, SHARED, EVERYWHERE, queued_job("j", 2, claims=["data"]))
    assert [pod.node for pod in pods] == ["a-hdd", "a-hdd"]
    assert all(pod.terms for pod in pods)


def test_a_gang_on_a_volume_with_affinity_is_pinned_where_it_is_reached() -> None:
    volume = make_volume("disk", affinity=[ZONE_B])
    pods = released(NODES, SHARED, volume, queued_job("j", 2, claims=["data"]))
    assert [pod.node for pod in pods] == ["b-hdd", "b-hdd"]
    names = {name for pod in pods for term in pod.terms or () for name in term.fields[0].values}
    assert names == {"b-hdd", "b-ssd"}


def test_a_volume_that_no_node_reaches_keeps_the_gang_in_the_queue() -> None:
    volume = make_volume("disk", affinity=[make_term(Requirement("zone", "In", ("c",)))])
    assert released(NODES, SHARED, volume, queued_job("j", 2, claims=["data"])) == []


def test_a_gang_on_a_claim_that_is_not_bound_is_released_without_a_pin() -> None:
    pods = released(NODES, make_claim(), queued_job("j", 2, claims=["data"]))
    assert [(pod.node, pod.terms) for pod in pods] == [(None, None)] * 2


FILTERED = {
    "held to its planned node where its claim is modelled": (SHARED, ("b-ssd",)),
    "not held to it where its claim is not": (make_claim(), tuple(node.name for node in NODES)),
}


@pytest.mark.parametrize(("claim", "passed"), FILTERED.values(), ids=FILTERED)
def test_a_pod_with_a_reservation_is(claim: Entity, passed: tuple[str, ...]) -> None:
    job = released_job("j", ["b-ssd"], claims=["data"])
    snapshot = snapshot_of(NODES, claim, EVERYWHERE, job)
    names = [node.name for node in NODES]
    verdict = filtering.filter_nodes(snapshot, job[1], names, CoreParameters())
    assert verdict.passed == passed
