"""Gangs are planned by the devices that drivers publish; what is not modelled says why."""

import json

import pytest

from extender.core import explain
from extender.core.cluster import job_views, pod_shape
from extender.core.cluster.commands import ReleaseGang, ReleasePod
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.queue import decision
from extender.core.queue.state import QueueState
from extender.core.scheduler import direct_gangs, filtering, prioritizing
from shared.model import Delete, Entity, JobKey, NodeName, Pod, Taint, Toleration, Upsert
from shared.objects.devices import DeviceRequest
from tests.fakes.builders import make_node, make_owner, make_pod
from tests.fakes.deciding import queue_pass
from tests.fakes.device_builders import (
    make_claim_template,
    make_device,
    make_device_claim,
    make_device_class,
    make_slice,
    make_taint_rule,
)
from tests.unit.core.clusters import queued_job, snapshot_of, store_of

GPU = "example.com/gpu"
BY_CLASS = "deviceclass.resource.kubernetes.io/gpu"
DRIVER = 'device.driver == "gpu.example.com"'
CLASS = make_device_class("gpu", resource=GPU, selectors=[DRIVER])
NODES = [make_node(name, cpu="8") for name in "ab"]
SLICES = [make_slice(name, 4) for name in "ab"]
OFFERING = make_node("c", cpu="8", allocatable={GPU: "4"})
PARAMS = CoreParameters()
ASKS = {GPU: "1"}


def run_pass(*entities: Entity | list[Entity]) -> decision.QueueOutcome:
    return queue_pass(snapshot_of(*entities), QueueState(), Reading(10, 10), PARAMS)


def released(outcome: decision.QueueOutcome) -> tuple[ReleasePod, ...]:
    (gang,) = [command for command in outcome.commands if isinstance(command, ReleaseGang)]
    return gang.pods


def nodes_of(*entities: Entity | list[Entity]) -> list[str]:
    return sorted(str(pod.node) for pod in released(run_pass(NODES, CLASS, *entities)))


def reason_of(*entities: Entity | list[Entity]) -> Reason:
    (entry,) = run_pass(NODES, CLASS, *entities).entries
    return entry.reason


def unmodelled(*entities: Entity | list[Entity]) -> str:
    pods = released(run_pass(NODES, CLASS, *entities))
    assert {pod.node for pod in pods} == {None}
    (cause,) = json.loads(pods[0].decision)["unmodelled"]
    return str(cause)


def claiming(size: int, template: str = "gpus") -> list[Entity]:
    return queued_job("j", size, device_claims=[template])


def test_a_gang_goes_to_the_nodes_that_have_the_devices() -> None:
    assert nodes_of(SLICES[:1], queued_job("j", 4, requests=ASKS)) == ["a"] * 4


def test_a_gang_that_needs_more_devices_than_are_free_waits() -> None:
    assert reason_of(SLICES, queued_job("j", 9, requests={GPU: "1"})) is Reason.GANG_DOES_NOT_FIT


def test_the_gang_is_placed_over_several_nodes() -> None:
    assert nodes_of(SLICES, queued_job("j", 6, requests=ASKS)) == ["a"] * 4 + ["b"] * 2


def test_without_the_class_it_waits_for_a_node_that_offers_it() -> None:
    """Where resource.k8s.io is not served nothing changes."""
    (entry,) = run_pass(NODES, SLICES, queued_job("j", 2, requests=ASKS)).entries
    assert (entry.reason, GPU in entry.message) == (Reason.NO_SUCH_NODE, True)


def test_without_slices_it_waits_for_a_node_that_has_devices() -> None:
    assert reason_of(queued_job("j", 2, requests=ASKS)) is Reason.NO_SUCH_NODE


def test_nodes_with_a_device_plugin_and_nodes_with_a_driver_serve_one_gang() -> None:
    found = nodes_of(OFFERING, SLICES[:1], queued_job("j", 8, requests=ASKS))
    assert found == ["a"] * 4 + ["c"] * 4


def test_the_resource_that_is_made_of_the_name_of_the_class_is_not_what_a_plugin_offers() -> None:
    asks = {BY_CLASS: "1"}
    assert nodes_of(OFFERING, SLICES[:1], queued_job("j", 4, requests=asks)) == ["a"] * 4
    assert reason_of(OFFERING, SLICES[:1], queued_job("j", 5, requests=asks)) is not None


def test_both_names_of_a_class_take_the_same_devices() -> None:
    held = make_pod("held", job="held", node="a", requests={BY_CLASS: "3"})
    assert nodes_of(SLICES, held, queued_job("j", 2, requests=ASKS)) == ["b", "b"]
    plugin = make_pod("held", job="held", node="a", requests={GPU: "3"})
    assert nodes_of(SLICES, plugin, queued_job("j", 2, requests={BY_CLASS: "1"})) == ["b", "b"]


def test_devices_of_a_claim_are_taken_however_they_are_requested() -> None:
    claim = make_device_claim("by-hand", *[("a", f"gpu-{i}") for i in range(3)])
    assert nodes_of(SLICES, claim, queued_job("j", 2, requests=ASKS)) == ["b", "b"]


def test_a_pod_with_its_allocation_is_counted_once() -> None:
    pods = [make_pod(f"p{i}", job="p", node="a", requests={GPU: "2"}) for i in range(2)]
    claim = make_device_claim("p0-claim", ("a", "gpu-0"), ("a", "gpu-1"), pod=pods[0].uid)
    snapshot = snapshot_of(NODES, CLASS, SLICES, pods, claim)
    table = snapshot.node_table
    assert table.used[table.index[NodeName("a")], table.resources.index(GPU)] == 4


def test_more_than_a_claim_can_have_is_left_to_kube_scheduler() -> None:
    cause = unmodelled(SLICES, queued_job("j", 1, requests={GPU: "33"}))
    assert cause == f"DeviceClass gpu serves {GPU}: more than 32 devices"


def test_a_selector_that_we_do_not_read_is_left_to_kube_scheduler() -> None:
    odd = make_device_class("gpu", resource=GPU, selectors=["device.driver.format([]) == 'x'"])
    pods = released(run_pass(NODES, odd, SLICES, queued_job("j", 1, requests=ASKS)))
    (cause,) = json.loads(pods[0].decision)["unmodelled"]
    assert cause == (
        f"DeviceClass gpu serves {GPU}: devices of {GPU}: selector not read: the function format()"
    )


SPECIAL = {
    "partitionable": make_slice("a", [make_device(counters={"c": {"slices": "1"}})]),
    "of several nodes": make_slice("a", 1, special="devices of several nodes"),
}


@pytest.mark.parametrize("special", SPECIAL.values(), ids=SPECIAL)
def test_devices_that_are_more_than_one_device_are_left_to_kube_scheduler(special: Entity) -> None:
    assert "devices" in unmodelled(special, SLICES[1], queued_job("j", 1, requests=ASKS))


def test_a_device_with_a_taint_is_not_free() -> None:
    ill = make_device("ill", taints=[Taint("ill", "", "NoSchedule")])
    assert nodes_of(make_slice("a", [ill]), SLICES[1], queued_job("j", 1, requests=ASKS)) == ["b"]


def test_a_claim_may_tolerate_the_taint_of_a_device() -> None:
    ill = make_device("ill", taints=[Taint("ill", "", "NoSchedule")])
    tolerating = DeviceRequest(device_class="gpu", tolerations=(Toleration("ill", "Exists"),))
    template = make_claim_template("gpus", tolerating)
    assert nodes_of(make_slice("a", [ill]), template, claiming(1)) == ["a"]


RULES = {
    "its driver, pool and device are named": (
        make_taint_rule(driver="gpu.example.com", pool="a", device="gpu-0"),
        ["b"],
    ),
    "all devices of its pool": (make_taint_rule(pool="a"), ["b"]),
    "NoExecute keeps pods away, too": (make_taint_rule(pool="a", effect="NoExecute"), ["b"]),
    "the effect None does nothing": (make_taint_rule(pool="a", effect="None"), ["a"]),
    "another device of the pool": (make_taint_rule(pool="a", device="gpu-1"), ["a"]),
    "devices of another driver": (make_taint_rule(driver="nic.example.com"), ["a"]),
    "a rule without a selector selects nothing": (make_taint_rule(selects=False), ["a"]),
}


@pytest.mark.parametrize(("rule", "nodes"), RULES.values(), ids=RULES)
def test_a_rule_gives_its_taint_to_the_devices_that_it_selects(
    rule: Entity, nodes: list[str]
) -> None:
    slices = [make_slice(name, 1) for name in "ab"]
    assert nodes_of(slices, rule, queued_job("j", 1, requests=ASKS)) == nodes


def test_a_rule_that_selects_all_devices_leaves_those_that_a_claim_tolerates() -> None:
    tolerating = DeviceRequest(device_class="gpu", tolerations=(Toleration("ill", "Exists"),))
    template = make_claim_template("gpus", tolerating)
    rule = make_taint_rule(effect="NoExecute")
    assert reason_of(SLICES, rule, queued_job("j", 1, requests=ASKS)) is Reason.NO_SUCH_NODE
    assert nodes_of(SLICES, rule, template, claiming(1)) == ["a"]


def test_devices_are_free_again_once_the_last_rule_that_selects_them_is_gone() -> None:
    store = store_of(NODES, CLASS, SLICES, queued_job("j", 1, requests=ASKS))
    table = store.snapshot().node_table
    column = table.resources.index(GPU)
    free = table.allocatable[:, column].tolist()

    def offered() -> list[int]:
        return [int(n) for n in store.snapshot().node_table.allocatable[:, column]]

    rules = [make_taint_rule("x", pool="a"), make_taint_rule("y", device="gpu-0")]
    for rule in rules:
        store.apply(Upsert(rule))
    assert offered()[:2] == [0, 3]
    store.apply(Upsert(make_taint_rule("x", pool="b")))
    assert offered()[:2] == [3, 0]
    for rule in rules:
        store.apply(Delete("DeviceTaintRule", rule.key, rule.uid))
    assert offered() == free


INCOMPLETE = {
    "a slice is missing": [make_slice("a", 4, pool_slices=2)],
    "a device name comes twice": [make_slice("a", [make_device(), make_device()])],
    "the latest generation is not complete": [
        make_slice("a", 4, name="old"),
        make_slice("a", 4, name="new", generation=2, pool_slices=2),
    ],
}


@pytest.mark.parametrize("slices", INCOMPLETE.values(), ids=INCOMPLETE)
def test_a_pool_that_is_not_whole_has_no_devices(slices: list[Entity]) -> None:
    assert reason_of(slices, queued_job("j", 1, requests=ASKS)) is Reason.NO_SUCH_NODE


def test_a_gang_with_claims_goes_to_the_nodes_that_have_the_devices() -> None:
    template = make_claim_template("gpus", DeviceRequest(device_class="gpu", count=2))
    assert nodes_of(SLICES, template, claiming(3)) == ["a", "a", "b"]
    assert reason_of(SLICES, template, claiming(5)) is Reason.GANG_DOES_NOT_FIT


def test_a_claim_with_a_selector_gets_only_such_devices() -> None:
    models = [
        make_slice(node, [make_device(f"gpu-{i}", attributes={"model": model}) for i in range(4)])
        for node, model in (("a", "A100"), ("b", "H100"))
    ]
    selector = 'device.attributes["gpu.example.com"].model == "H100"'
    template = make_claim_template(
        "gpus", DeviceRequest(device_class="gpu", count=2, selectors=(selector,))
    )
    assert nodes_of(models, template, claiming(2)) == ["b", "b"]
    assert reason_of(models, template, claiming(3)) is Reason.GANG_DOES_NOT_FIT
    held = make_pod("held", job="held", node="b", requests={GPU: "3"})
    assert reason_of(models, template, held, claiming(1)).waits_for_room


def test_two_requests_of_one_claim_are_both_fitted() -> None:
    nic = make_device_class("nic", resource="", selectors=['device.driver == "nic.example.com"'])
    nics = make_slice("b", 1, driver="nic.example.com")
    template = make_claim_template(
        "gpus", DeviceRequest(device_class="gpu"), DeviceRequest(device_class="nic")
    )
    assert nodes_of(SLICES, nic, nics, template, claiming(1)) == ["b"]
    assert reason_of(SLICES, nic, nics, template, claiming(2)) is Reason.GANG_DOES_NOT_FIT


LEFT_ALONE = {
    "the template is missing": ([], "ResourceClaimTemplate default/gpus does not exist"),
    "the class is missing": (
        [make_claim_template("gpus", DeviceRequest(device_class="tpu"))],
        "ResourceClaimTemplate default/gpus: DeviceClass tpu does not exist",
    ),
    "it has what we do not read": (
        [make_claim_template("gpus", special="a constraint of an unknown form")],
        "ResourceClaimTemplate default/gpus: a constraint of an unknown form",
    ),
    "it requests too much": (
        [make_claim_template("gpus", DeviceRequest(device_class="gpu", count=33))],
        "ResourceClaimTemplate default/gpus: more than 32 devices",
    ),
}


@pytest.mark.parametrize(("entities", "cause"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_a_claim_that_is_not_modelled_is_left_to_kube_scheduler(
    entities: list[Entity], cause: str
) -> None:
    assert unmodelled(SLICES, entities, claiming(2)) == cause


def test_kinds_that_share_only_some_devices_of_a_node_are_left_to_kube_scheduler() -> None:
    first = 'device.attributes["gpu.example.com"].index == 0'
    devices = [make_device(f"gpu-{i}", attributes={"index": i}) for i in range(2)]
    template = make_claim_template("gpus", DeviceRequest(device_class="gpu", selectors=(first,)))
    other = make_pod("other", job="other", node="b", requests=ASKS)
    cause = unmodelled(make_slice("a", devices), template, other, claiming(1))
    assert cause.endswith(f"it shares some of its devices with {GPU}")


def test_a_kind_that_no_pod_requests_hinders_no_other() -> None:
    first = 'device.attributes["gpu.example.com"].index == 0'
    devices = [make_device(f"gpu-{i}", attributes={"index": i}) for i in range(2)]
    template = make_claim_template("gpus", DeviceRequest(device_class="gpu", selectors=(first,)))
    assert nodes_of(make_slice("a", devices), template, claiming(1)) == ["a"]


def test_kube_scheduler_allocates_devices_so_no_burst_binds_such_pods() -> None:
    plain, single = make_pod("plain"), make_pod("single", requests=ASKS)
    snapshot = snapshot_of(NODES, CLASS, SLICES, plain, single)
    for pod, expected in ((plain, True), (single, False)):
        shape = pod_shape.shape(snapshot, pod)
        assert pod_shape.has_plain_cycle(snapshot, pod, shape) is expected


def test_filter_keeps_a_single_pod_off_nodes_without_free_devices() -> None:
    single = make_pod("single", requests=ASKS)
    full = make_pod("full", job="full", node="a", requests={GPU: "4"})
    snapshot = snapshot_of(NODES, CLASS, SLICES, full, single)
    assert filtering.filter_nodes(snapshot, single, ["a", "b"], PARAMS).passed == ("b",)
    assert set(prioritizing.explain(snapshot, single, PARAMS)) == {"b"}


UNREAD = [CLASS, make_slice("a", [make_device(counters={"c": {"slices": "1"}})])]
SINGLE = make_pod("single", requests=ASKS)
MEMBER = make_pod("member", requests=ASKS, plan="p", plan_size=2)


@pytest.mark.parametrize("pod", [SINGLE, MEMBER], ids=["a single pod", "a released member"])
def test_filter_lets_a_pod_that_is_not_modelled_pass_where_kube_scheduler_offers(pod: Pod) -> None:
    verdict = filtering.filter_nodes(snapshot_of(NODES, UNREAD, pod), pod, ["a", "b"], PARAMS)
    assert verdict.passed == ("a", "b")
    assert not direct_gangs.is_single(snapshot_of(NODES, UNREAD, pod), pod)


def test_a_class_that_comes_and_goes_changes_the_view_of_the_job() -> None:
    store = store_of(NODES, UNREAD[1], queued_job("j", 1, requests=ASKS))
    (key,) = store.snapshot().jobs

    def causes() -> tuple[str, ...]:
        return job_views.view(store.snapshot(), JobKey(key)).members[0].shape.unmodelled

    assert causes() == ()
    store.apply(Upsert(CLASS))
    assert causes() == (f"DeviceClass gpu serves {GPU}: devices of {GPU}: partitionable devices",)
    store.apply(Delete("DeviceClass", "gpu", CLASS.uid))
    assert causes() == ()
    store.check_invariants()


def test_a_pod_whose_devices_are_modelled_keeps_the_same_shape_object() -> None:
    pod = make_pod(requests=ASKS)
    assert pod_shape.shape(snapshot_of(NODES, CLASS, SLICES, pod), pod) is pod.shape


def test_explain_offers_nodes_with_the_devices_that_an_existing_one_has() -> None:
    snapshot = snapshot_of(NODES, CLASS, SLICES, queued_job("j", 12, requests=ASKS))
    (key,) = snapshot.jobs
    session = explain.isolated(Session(snapshot, Reading(1, 1), PARAMS), None)
    offers = [change.says for change in explain.job(session, JobKey(key)).changes]
    assert any(text.startswith("add 1 empty node like") for text in offers), offers


def test_explain_shows_why_it_was_released_without_a_pin() -> None:
    owner = make_owner("j", size=2)
    loose = [
        make_pod(f"j-{i}", requests=ASKS, owner=owner, plan="p", plan_size=2) for i in range(2)
    ]
    snapshot = snapshot_of(NODES, UNREAD, owner, loose)
    (key,) = snapshot.jobs
    session = explain.isolated(Session(snapshot, Reading(1, 1), PARAMS), None)
    answer = explain.job(session, JobKey(key))
    assert answer.state == "loose"
    assert answer.message == (
        "released without a pin, kube-scheduler chooses the nodes: "
        f"DeviceClass gpu serves {GPU}: devices of {GPU}: partitionable devices"
    )
