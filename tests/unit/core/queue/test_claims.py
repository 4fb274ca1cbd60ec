"""Gangs with claims that are more than a number of devices, and with claims that pods share."""

import json
from collections.abc import Sequence

import pytest

from extender.core.cluster.commands import ReleaseGang, ReleasePod
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.placement import LEVELS
from extender.core.queue import decision
from extender.core.queue.state import QueueState
from shared import labels
from shared.model import Entity, PodClaim, Taint, Toleration, Uid
from shared.objects.devices import CapacityPolicy, Constraint, DeviceRequest
from tests.fakes.builders import make_node, make_pod
from tests.fakes.deciding import queue_pass
from tests.fakes.device_builders import (
    make_claim_template,
    make_device,
    make_device_claim,
    make_device_class,
    make_named_claim,
    make_slice,
)
from tests.unit.core.clusters import queued_job, snapshot_of

ATTRIBUTE = 'device.attributes["gpu.example.com"]'
CLASS = make_device_class("gpu", resource="", selectors=['device.driver == "gpu.example.com"'])
NODES = [make_node(name, cpu="8") for name in "ab"]
SLICES = [make_slice(name, 4) for name in "ab"]
SHARED = PodClaim("shared", claim="x")


def of_model(model: str, count: int = 1) -> DeviceRequest:
    selector = f'{ATTRIBUTE}.model == "{model}"'
    return DeviceRequest(name=model, device_class="gpu", count=count, selectors=(selector,))


def models(node: str, *models: str) -> Entity:
    devices = [make_device(f"d{i}", attributes={"model": m}) for i, m in enumerate(models)]
    return make_slice(node, devices)


def run_pass(*entities: Entity | list[Entity]) -> decision.QueueOutcome:
    snapshot = snapshot_of(NODES, CLASS, *entities)
    return queue_pass(snapshot, QueueState(), Reading(10, 10), CoreParameters())


def released(*entities: Entity | list[Entity]) -> tuple[ReleasePod, ...]:
    outcome = run_pass(*entities)
    (gang,) = [command for command in outcome.commands if isinstance(command, ReleaseGang)]
    return gang.pods


def nodes_of(*entities: Entity | list[Entity]) -> list[str]:
    return sorted(str(pod.node) for pod in released(*entities))


def waits(*entities: Entity | list[Entity]) -> bool:
    (entry,) = run_pass(*entities).entries
    return entry.reason is Reason.GANG_DOES_NOT_FIT


def cause(*entities: Entity | list[Entity]) -> str:
    pods = released(*entities)
    assert {pod.node for pod in pods} == {None}
    (found,) = json.loads(pods[0].decision)["unmodelled"]
    return str(found)


def job(size: int, claim: str | PodClaim = "t", name: str = "j") -> list[Entity]:
    return queued_job(name, size, device_claims=[claim])


def template(*requests: DeviceRequest, constraints: Sequence[Constraint] = ()) -> Entity:
    return make_claim_template("t", *requests, constraints=constraints)


def first_of(*alternatives: DeviceRequest) -> Entity:
    return template(DeviceRequest(name="r", alternatives=alternatives))


EVERY = DeviceRequest(name="r", device_class="gpu", every=True)


def test_of_the_first_available_model_each_will_do() -> None:
    either = first_of(of_model("H100"), of_model("A100"))
    assert nodes_of(models("a", "H100"), models("b", "A100", "A100"), either, job(3)) == [
        "a",
        "b",
        "b",
    ]
    assert waits(models("a", "H100"), models("b", "A100", "A100"), either, job(4))


def test_alternatives_may_need_different_numbers_of_devices() -> None:
    either = first_of(of_model("H100"), of_model("A100", 2))
    slices = [models("a", "H100"), models("b", *["A100"] * 5)]
    assert nodes_of(*slices, either, job(3)) == ["a", "b", "b"]
    assert waits(*slices, either, job(4))


def test_a_node_may_have_devices_of_several_alternatives() -> None:
    either = first_of(of_model("H100", 2), of_model("A100", 2))
    mixed = models("a", "H100", "A100", "A100", "H100", "H100")
    assert nodes_of(mixed, either, job(2)) == ["a", "a"]
    assert waits(mixed, either, job(3))


def test_all_devices_of_a_node_are_for_one_pod() -> None:
    assert nodes_of(SLICES, template(EVERY), job(2)) == ["a", "b"]
    assert waits(SLICES, template(EVERY), job(3))
    held = make_device_claim("held", ("a", "gpu-1"))
    assert waits(SLICES, held, template(EVERY), job(2))


def test_all_devices_may_be_of_different_number() -> None:
    different = [make_slice("a", 4), make_slice("b", 2)]
    assert nodes_of(*different, template(EVERY), job(2)) == ["a", "b"]


def test_all_devices_are_known_of_whole_pools_only() -> None:
    partial = make_slice("a", 2, name="more", pool="other", pool_slices=2)
    assert nodes_of(SLICES, partial, template(EVERY), job(1)) == ["b"]


@pytest.mark.parametrize("tolerations", [(), (Toleration("ill", "Exists"),)], ids=["no", "yes"])
def test_all_devices_cannot_be_had_where_the_taint_of_one_is_not_tolerated(
    tolerations: tuple[Toleration, ...],
) -> None:
    ill = make_device("ill", taints=[Taint("ill", "", "NoSchedule")])
    devices = make_slice("a", [make_device("gpu-0"), ill])
    wanted = DeviceRequest(device_class="gpu", every=True, tolerations=tolerations)
    assert nodes_of(devices, SLICES[1], template(wanted), job(1 + bool(tolerations)))[-1] == "b"
    assert waits(devices, SLICES[1], template(wanted), job(2 + bool(tolerations)))


def switches(node: str, *numbers: int) -> Entity:
    devices = [
        make_device(f"d{i}", attributes={"switch": number}) for i, number in enumerate(numbers)
    ]
    return make_slice(node, devices)


PAIR = DeviceRequest(name="r", device_class="gpu", count=2)


def test_devices_of_a_claim_have_an_attribute_in_common() -> None:
    alike = template(PAIR, constraints=[Constraint(attribute="gpu.example.com/switch")])
    slices = [switches("a", 0, 1, 0, 1), switches("b", 0, 1, 1, 2)]
    assert nodes_of(*slices, alike, job(3)) == ["a", "a", "b"]
    assert waits(*slices, alike, job(4))


def test_devices_of_a_claim_differ_in_an_attribute() -> None:
    requests = [DeviceRequest(name=name, device_class="gpu") for name in ("one", "other")]
    different = template(
        *requests, constraints=[Constraint(attribute="gpu.example.com/switch", distinct=True)]
    )
    slices = [switches("a", 0, 0, 0), switches("b", 0, 0, 1, 1)]
    assert nodes_of(*slices, different, job(2)) == ["b", "b"]
    assert waits(*slices, different, job(3))


def test_admin_access_takes_no_device_and_needs_no_free_one() -> None:
    watching = template(DeviceRequest(name="r", device_class="gpu", every=True, admin=True))
    held = make_device_claim("held", *[("a", f"gpu-{i}") for i in range(4)])
    assert nodes_of(SLICES[0], held, watching, job(3)) == ["a"] * 3


def partitions(node: str) -> Entity:
    """A device of four slices: as one, as two halves, or as four quarters."""
    sizes = [4, 2, 2, 1, 1, 1, 1]
    devices = [
        make_device(
            f"p{i}", attributes={"model": f"{size}g"}, counters={"gpu": {"slices": str(size)}}
        )
        for i, size in enumerate(sizes)
    ]
    return make_slice(node, devices, counters={"gpu": {"slices": "4"}})


@pytest.mark.parametrize(("size", "most"), [(1, 4), (2, 2), (4, 1)])
def test_partitions_take_the_counters_of_their_device(size: int, most: int) -> None:
    wanted = template(of_model(f"{size}g"))
    assert nodes_of(partitions("a"), wanted, job(most)) == ["a"] * most
    assert waits(partitions("a"), wanted, job(most + 1))


def test_partitions_of_claims_take_the_counters() -> None:
    half = make_device_claim("held", ("a", "p1"))
    assert nodes_of(partitions("a"), half, template(of_model("1g")), job(2)) == ["a"] * 2
    assert waits(partitions("a"), half, template(of_model("1g")), job(3))
    (entry,) = run_pass(partitions("a"), half, template(of_model("4g")), job(1)).entries
    assert entry.reason.waits_for_room


def test_partitions_of_a_pool_that_is_overdrawn_are_not_free() -> None:
    """A driver may have changed what the devices take, or how much there is."""
    devices = [make_device(f"p{i}", counters={"gpu": {"slices": "2"}}) for i in range(2)]
    counters = {"gpu": {"slices": "1"}, "other": {"slices": "4"}}
    free = make_device("free", counters={"other": {"slices": "1"}})
    overdrawn = make_slice("a", [*devices, free], counters=counters)
    held = make_device_claim("held", ("a", "p0"))
    one = template(DeviceRequest(device_class="gpu"))
    assert nodes_of(overdrawn, one, job(1)) == ["a"]
    (entry,) = run_pass(overdrawn, held, one, job(1)).entries
    assert entry.reason.waits_for_room


def shared(node: str, policy: CapacityPolicy | None = None) -> Entity:
    policies = {} if policy is None else {"memory": policy}
    device = make_device("d", capacity={"memory": "40Gi"}, shared=True, policies=policies)
    return make_slice(node, [device])


def part(amount: str) -> Entity:
    capacity = (("memory", amount),) if amount else ()
    return template(DeviceRequest(name="r", device_class="gpu", capacity=capacity))


STEPS = CapacityPolicy(default="10Gi", least="10Gi", step="10Gi")
PARTS = {
    "as much as is requested": (None, "10Gi", 4),
    "all where nothing is requested": (None, "", 1),
    "the default where nothing is requested": (STEPS, "", 4),
    "rounded up to a step": (STEPS, "11Gi", 2),
    "rounded up to a value": (CapacityPolicy(values=("8Gi", "40Gi")), "9Gi", 1),
}


@pytest.mark.parametrize(("policy", "amount", "most"), PARTS.values(), ids=PARTS)
def test_claims_take_parts_of_a_device(
    policy: CapacityPolicy | None, amount: str, most: int
) -> None:
    slices = shared("a", policy)
    assert nodes_of(slices, part(amount), job(most)) == ["a"] * most
    assert waits(slices, part(amount), job(most + 1))


def test_a_capacity_that_no_device_has_is_no_device() -> None:
    (entry,) = run_pass(shared("a"), part("41Gi"), job(1)).entries
    assert entry.reason is Reason.NO_SUCH_NODE


def test_alternatives_have_their_own_tolerations() -> None:
    ill = make_device("d", attributes={"model": "A100"}, taints=[Taint("ill", "", "NoSchedule")])
    tolerating = DeviceRequest(device_class="gpu", tolerations=(Toleration("ill", "Exists"),))
    either = first_of(of_model("A100"), tolerating)
    assert nodes_of(make_slice("a", [ill]), either, job(1)) == ["a"]


def test_kinds_of_claims_that_want_the_same_devices_are_left_to_kube_scheduler() -> None:
    alike = template(PAIR, constraints=[Constraint(attribute="gpu.example.com/switch")])
    single = make_claim_template("single")
    waiting = make_pod("waiting", device_claims=["single"])
    slices = [switches("a", 0, 1, 0, 1)]
    assert "it shares some of its devices with" in cause(*slices, alike, single, waiting, job(2))


def test_what_has_its_devices_is_in_the_way_of_no_other_kind() -> None:
    alike = template(PAIR, constraints=[Constraint(attribute="gpu.example.com/switch")])
    single = make_claim_template("single")
    running = make_pod("running", device_claims=["single"], node="a")
    claim = make_device_claim("of-running", ("a", "d0"), pod=running.uid, pod_claim="from-single")
    entities = [switches("a", 0, 1, 0, 1), alike, single, running, claim]
    assert nodes_of(*entities, job(1)) == ["a"]
    assert waits(*entities, job(2))


def test_a_pod_goes_to_the_devices_of_the_claim_that_it_names() -> None:
    claim = make_named_claim("x", node="b", devices=())
    assert nodes_of(SLICES, claim, job(2, SHARED)) == ["b", "b"]


def test_a_claim_without_devices_brings_all_pods_that_name_it_to_one_node() -> None:
    claim = make_named_claim("x", DeviceRequest(device_class="gpu", count=3))
    held = make_device_claim("held", ("a", "gpu-0"), ("a", "gpu-1"))
    assert nodes_of(SLICES, claim, held, job(4, SHARED)) == ["b"] * 4
    assert waits(SLICES, claim, held, job(9, SHARED))


def test_its_devices_are_taken_once_while_its_pods_wait_for_them() -> None:
    claim = make_named_claim("x", DeviceRequest(device_class="gpu", count=3))
    names = [f"s-{i}" for i in range(3)]
    sharing = [make_pod(name, device_claims=[SHARED], reservation="a", job="s") for name in names]
    one = make_claim_template("t")
    assert nodes_of(SLICES[0], claim, one, sharing, job(1)) == ["a"]
    assert waits(SLICES[0], claim, one, sharing, job(2))


def test_a_pod_follows_another_one_that_names_the_same_claim() -> None:
    claim = make_named_claim("x")
    first = make_pod("first", device_claims=[SHARED], reservation="b", job="first")
    assert nodes_of(SLICES, claim, first, job(2, SHARED)) == ["b", "b"]


RACK = LEVELS[2].label
WHOLE = make_named_claim("x", DeviceRequest(device_class="gpu", count=1))
IN_SLICES = {labels.SLICE_REQUIRED_TOPOLOGY: "rack", labels.SLICE_SIZE: "2"}
RACKS = [make_node("a", cpu="2", labels={RACK: "r1"}), make_node("b", cpu="4", labels={RACK: "r2"})]


@pytest.mark.parametrize(
    ("unlabelled", "expected"),
    [(make_node("c", cpu="2"), ["b"] * 4), (make_node("a", cpu="8"), ["b"] * 4)],
    ids=["two racks with room for a slice each", "a node without a rack has room for all"],
)
def test_slices_that_share_a_claim_are_on_one_node_with_their_level(unlabelled, expected) -> None:
    gang = queued_job("j", 4, device_claims=[SHARED], annotations=IN_SLICES)
    assert nodes_of(RACKS, unlabelled, SLICES, WHOLE, gang) == expected


def test_slices_that_share_a_claim_wait_for_one_node_with_room_for_all() -> None:
    gang = queued_job("j", 6, device_claims=[SHARED], annotations=IN_SLICES)
    (entry,) = run_pass(RACKS, SLICES, WHOLE, gang).entries
    assert entry.reason is Reason.TOPOLOGY_PLACEMENT_FAILED


SHARING = make_pod("other", device_claims=[SHARED])
LEFT_ALONE = {
    "it does not exist": ([], "ResourceClaim default/x does not exist"),
    "it is being deleted": (
        [make_named_claim("x", deleting=True)],
        "ResourceClaim default/x: it is being deleted",
    ),
    "it is another pod's": (
        [make_named_claim("x", pod=Uid("other"))],
        "ResourceClaim default/x: it belongs to another pod",
    ),
    "too many pods name it": (
        [make_named_claim("x", users=tuple(Uid(str(i)) for i in range(255)))],
        "ResourceClaim default/x: more than 256 pods name it",
    ),
    "another job shares it": (
        [make_named_claim("x"), SHARING],
        "ResourceClaim default/x: several jobs, or not all pods of a job, name it",
    ),
}


@pytest.mark.parametrize(("entities", "expected"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_a_claim_that_cannot_be_planned_says_why(entities: list[Entity], expected: str) -> None:
    assert cause(SLICES, entities, job(2, SHARED)) == expected


def test_two_claims_of_one_kind_in_a_pod_are_left_to_kube_scheduler() -> None:
    either = first_of(of_model("H100"), of_model("A100", 2))
    twice = queued_job("j", 1, device_claims=[PodClaim("a", "t"), PodClaim("b", "t")])
    found = cause(models("a", "H100", "H100"), either, twice)
    assert found == "ResourceClaimTemplate default/t: the pod has two such claims"
