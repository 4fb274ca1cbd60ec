from typing import Any

import msgspec
import pytest

from shared import labels, model
from shared.kube import parse, resources
from shared.kube.errors import OddObjectError
from tests.fakes.kube_objects import container, encoded, pod

NOON = 1795262400.0  # 2026-11-21T12:00:00Z
JOB = {"kind": "Job", "apiVersion": "batch/v1", "name": "j", "uid": "u", "controller": True}


def test_all_fields_of_a_pod_are_read() -> None:
    manifest = pod(
        metadata={
            "labels": {"l": "1"},
            "annotations": {labels.MAX_WAIT: "1h", "a": "1"},
            "ownerReferences": [{**JOB, "name": "x", "controller": None}, JOB],
            "deletionTimestamp": "2026-11-21T12:00:00Z",
        },
        containers=[container(cpu="1")],
        schedulerName="shuntyard",
        nodeName="node-1",
        schedulingGates=[{"name": "g"}],
        priority=7,
        priorityClassName="high",
        status={
            "phase": "Failed",
            "reason": "OutOfcpu",
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "True",
                    "lastTransitionTime": "2026-11-21T12:00:01Z",
                },
                {"type": labels.QUEUED_CONDITION, "status": "True", "reason": "NoRoom"},
                {"type": "PodResizePending", "status": "True", "reason": "Deferred"},
            ],
            "containerStatuses": [
                {"name": "main", "state": {"terminated": {"finishedAt": "2026-11-21T12:00:09Z"}}},
                {"name": "side", "state": {"terminated": {"finishedAt": None}}},
                {"name": "late", "state": {"running": {"startedAt": "2026-11-21T12:00:02Z"}}},
            ],
            "qosClass": "Burstable",
        },
    )
    assert parse.decode_pod(encoded(manifest)) == model.Pod(
        namespace="n",
        name="a",
        uid=model.Uid("uid-a"),
        resource_version="7",
        created_at=NOON,
        shape=model.PodShape(requests=(("cpu", 1000), ("pods", 1))),
        labels={"l": "1"},
        annotations={labels.MAX_WAIT: "1h"},
        controller=model.OwnerReference("batch/v1", "Job", "j", model.Uid("u")),
        scheduler_name="shuntyard",
        node_name=model.NodeName("node-1"),
        gates=("g",),
        phase="Failed",
        deleting=True,
        priority=7,
        priority_class="high",
        scheduled_at=NOON + 1,
        finished_at=NOON + 9,
        queued_reason="NoRoom",
        phase_reason="OutOfcpu",
        qos="Burstable",
        cpus=(model.ContainerCpu("main", 1000),),
        resize_pending="Deferred",
    )


def test_a_pod_may_lack_everything_but_its_name() -> None:
    parsed = parse.decode_pod(b'{"metadata": {"name": "a"}, "spec": null, "status": null}')
    assert parsed.key == "/a"
    assert parsed.phase == "Pending"
    assert parsed.shape.requests == (("pods", 1),)
    assert parsed.controller is None


NULLS = ("labels", "annotations", "ownerReferences", "uid", "resourceVersion", "creationTimestamp")


def test_null_is_like_a_missing_field() -> None:
    manifest = pod(metadata=dict.fromkeys(NULLS))
    manifest["spec"] = dict.fromkeys(
        ("containers", "schedulingGates", "nodeName", "tolerations", "affinity")
    )
    manifest["status"] = {"conditions": None, "phase": None, "containerStatuses": None}
    assert parse.decode_pod(encoded(manifest)).phase == "Pending"


def test_the_pod_in_extender_args_is_read_from_raw_json() -> None:
    raw = msgspec.Raw(encoded(pod()))
    assert parse.decode_pod(raw).name == "a"


ODD: dict[str, tuple[bytes, str]] = {
    "not an object": (b"[]", "?"),
    "not JSON": (b"{", "?"),
    "not UTF-8": (b'{"metadata": {"name": "\xff"}}', "?"),
    "no metadata": (b"{}", "?"),
    "no name": (b'{"metadata": {"namespace": "n", "uid": 7}}', "?"),
    "a container that is null": (encoded(pod(containers=[None])), "n/a"),
    "a label that is a number": (encoded(pod(metadata={"labels": {"l": 1}})), "n/a"),
    "a time that is none": (encoded(pod(metadata={"creationTimestamp": "noon"})), "n/a"),
    "an amount that is none": (encoded(pod(containers=[container(cpu="1x")])), "n/a"),
}


@pytest.mark.parametrize(("data", "key"), ODD.values(), ids=ODD)
def test_a_malformed_object_is_one_kind_of_error_with_its_key(data: bytes, key: str) -> None:
    with pytest.raises(OddObjectError) as caught:
        parse.decode_pod(data)
    assert caught.value.key == key


AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"
SHAPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "node selector": (
        {"nodeSelector": {"b": "2", "a": "1"}},
        {"node_selector": (("a", "1"), ("b", "2"))},
    ),
    "node affinity": (
        {
            "affinity": {
                "nodeAffinity": {
                    AFFINITY: {
                        "nodeSelectorTerms": [
                            {
                                "matchExpressions": [{"key": "k", "operator": "Exists"}],
                                "matchFields": [
                                    {"key": "metadata.name", "operator": "In", "values": ["x"]}
                                ],
                            },
                            {},
                        ]
                    }
                }
            }
        },
        {
            "affinity": (
                model.NodeSelectorTerm(
                    (model.Requirement("k", "Exists"),),
                    (model.Requirement("metadata.name", "In", ("x",)),),
                ),
                model.NodeSelectorTerm(),
            )
        },
    ),
    "preferred affinity is no filter": (
        {
            "affinity": {
                "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]},
                "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]},
                "podAntiAffinity": {AFFINITY: []},
            }
        },
        {},
    ),
    "tolerations": (
        {
            "tolerations": [
                {"operator": "Exists"},
                {"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 300},
                {"operator": "Exists"},
            ]
        },
        {
            "tolerations": (
                model.Toleration(operator="Exists"),
                model.Toleration("k", "Equal", "v", "NoExecute"),
            )
        },
    ),
    "host ports": (
        {
            "containers": [
                {"ports": [{"hostPort": 80}, {"containerPort": 81}, {"hostPort": 0}]},
                {"ports": [{"hostPort": 53, "hostIP": "10.0.0.1", "protocol": "UDP"}]},
            ],
            "initContainers": [
                {"ports": [{"hostPort": 1}]},
                {"ports": [{"hostPort": 2}], "restartPolicy": "Always"},
            ],
        },
        {
            "host_ports": (
                model.HostPort("0.0.0.0", "TCP", 2),
                model.HostPort("0.0.0.0", "TCP", 80),
                model.HostPort("10.0.0.1", "UDP", 53),
            )
        },
    ),
    "inter-pod affinity": (
        {"affinity": {"podAffinity": {AFFINITY: [{"topologyKey": "t"}]}}},
        {"unmodelled": ("podAffinity",)},
    ),
    "inter-pod anti-affinity": (
        {"affinity": {"podAntiAffinity": {AFFINITY: [{"topologyKey": "t"}]}}},
        {"unmodelled": ("podAffinity",)},
    ),
    "spread": (
        {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]},
        {"unmodelled": ("topologySpread",)},
    ),
    "spread as a wish": (
        {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]},
        {},
    ),
    "volumes": (
        {
            "volumes": [
                {"name": "a", "emptyDir": {}},
                {"name": "c", "ephemeral": {}},
            ]
        },
        {"unmodelled": ("volumes",)},
    ),
    "claimed volumes, which are the pod's and not the shape's": (
        {"volumes": [{"name": "b", "persistentVolumeClaim": {"claimName": "c"}}]},
        {},
    ),
    "volumes that are everywhere": (
        {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "persistentVolumeClaim": None}]},
        {},
    ),
    "claims": ({"resourceClaims": [{"name": "gpu"}]}, {"unmodelled": ("resourceClaims",)}),
}


PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
PREFERENCES: dict[str, tuple[dict[str, Any], bool]] = {
    "nothing": ({}, False),
    "what is required": ({"affinity": {"podAffinity": {AFFINITY: [{"topologyKey": "t"}]}}}, False),
    "no term": ({"affinity": {"nodeAffinity": {PREFERRED: []}}}, False),
    "nodes": ({"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1}]}}}, True),
    "other pods": ({"affinity": {"podAffinity": {PREFERRED: [{"weight": 1}]}}}, True),
    "to be apart": ({"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 1}]}}}, True),
    "to be spread": (
        {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]},
        True,
    ),
}


@pytest.mark.parametrize(("spec", "expected"), PREFERENCES.values(), ids=PREFERENCES)
def test_preferences_of_a_pod_are_detected(spec: dict[str, Any], expected: bool) -> None:
    assert parse.decode_pod(encoded(pod(**spec))).prefers is expected


@pytest.mark.parametrize(("spec", "expected"), SHAPES.values(), ids=SHAPES)
def test_a_shape_holds_the_fields_that_filters_read(
    spec: dict[str, Any], expected: dict[str, Any]
) -> None:
    shape = parse.decode_pod(encoded(pod(**spec))).shape
    assert shape == model.PodShape(requests=(("pods", 1),), **expected)


def test_all_fields_of_a_node_are_read() -> None:
    manifest = {
        "metadata": {"name": "node-1", "uid": "u", "labels": {"zone": "z"}},
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": True},
        "status": {"allocatable": {"cpu": "1500m", "memory": "1Gi", "pods": "110"}},
    }
    assert parse.decode_node(encoded(manifest)) == model.Node(
        name=model.NodeName("node-1"),
        uid=model.Uid("u"),
        allocatable={"cpu": 1500, "memory": 2**30, "pods": 110},
        labels={"zone": "z"},
        taints=(model.Taint("k", "", "NoSchedule"),),
        unschedulable=True,
    )


def test_of_a_nodes_conditions_those_that_are_true_are_kept() -> None:
    conditions = [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        {"type": "KernelDeadlock", "status": "True"},
        {"type": "MemoryPressure", "status": "False"},
    ]
    found = parse.decode_node(
        encoded({"metadata": {"name": "n"}, "status": {"conditions": conditions}})
    )
    assert (found.conditions, found.unreachable_since) == (("KernelDeadlock",), 0.0)


READY: dict[str, tuple[str, float]] = {
    "its kubelet does not report": ("Unknown", 60.0),
    "its kubelet says that it is not ready": ("False", 0.0),
    "it is ready": ("True", 0.0),
}


@pytest.mark.parametrize(("status", "since"), READY.values(), ids=READY)
def test_a_node_is_unreachable_while_ready_is_unknown(status: str, since: float) -> None:
    ready = {"type": "Ready", "status": status, "lastTransitionTime": "1970-01-01T00:01:00Z"}
    node = {"metadata": {"name": "n"}, "status": {"conditions": [ready]}}
    assert parse.decode_node(encoded(node)).unreachable_since == since


LEAVES: dict[str, tuple[dict[str, str], float | None]] = {
    "with a time": ({"shuntyard.io/leaving": "1970-01-01T00:01:00Z"}, 60.0),
    "without a time": ({"shuntyard.io/leaving": ""}, 0.0),
    "with another text": ({"shuntyard.io/leaving": "soon"}, 0.0),
    "without the annotation": ({"example.com/leaving": "soon"}, None),
}


@pytest.mark.parametrize(("annotations", "at"), LEAVES.values(), ids=LEAVES)
def test_a_node_may_announce_that_it_leaves(annotations: dict[str, str], at: float | None) -> None:
    node = {"metadata": {"name": "n", "annotations": annotations}}
    assert parse.decode_node(encoded(node)).leaves_at == at


def test_a_node_may_lack_everything_but_its_name() -> None:
    assert parse.decode_node(b'{"metadata": {"name": "n"}}').allocatable == {}


SIZES: dict[str, tuple[resources.ResourceKind, dict[str, Any] | None, int]] = {
    "job": (resources.JOBS, {}, 1),
    "job without spec": (resources.JOBS, None, 1),
    "parallel job": (resources.JOBS, {"parallelism": 4}, 4),
    "parallel job with fewer completions": (
        resources.JOBS,
        {"parallelism": 4, "completions": 3},
        3,
    ),
    "one after the other": (resources.JOBS, {"parallelism": 2, "completions": 9}, 2),
    "work queue": (resources.JOBS, {"parallelism": 2, "completions": None}, 2),
    "suspended to none": (resources.JOBS, {"parallelism": 0, "completions": 3}, 0),
    "stateful set": (resources.STATEFULSETS, {}, 1),
    "stateful set of three": (resources.STATEFULSETS, {"replicas": 3}, 3),
    "stateful set of none": (resources.STATEFULSETS, {"replicas": 0}, 0),
}


@pytest.mark.parametrize(("kind", "spec", "size"), SIZES.values(), ids=SIZES)
def test_an_owners_size_is_the_number_of_pods_at_one_time(
    kind: resources.ResourceKind, spec: dict[str, Any] | None, size: int
) -> None:
    owner = kind.decode(encoded({"metadata": {"name": "o", "namespace": "n"}, "spec": spec}))
    assert isinstance(owner, model.Owner)
    assert owner.size == size
    assert owner.kind == kind.source


KINDS = {
    kind.source: kind
    for kind in (
        resources.PODS,
        resources.NODES,
        resources.JOBS,
        resources.STATEFULSETS,
        resources.NAMESPACES,
        resources.RESOURCE_QUOTAS,
        resources.PRIORITY_CLASSES,
        resources.VOLUME_CLAIMS,
        resources.VOLUMES,
    )
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_deleted_object_keeps_its_key(kind: resources.ResourceKind) -> None:
    entity = kind.decode(encoded({"metadata": {"name": "x", "namespace": "n"}, "value": 3}))
    assert entity.key == kind.key("n", "x")
    assert type(entity).__name__ == kind.kind


def test_annotations_and_values_are_read() -> None:
    manifest = encoded(
        {
            "metadata": {"name": "x", "namespace": "n", "annotations": {"shuntyard.io/a": "1"}},
            "value": 5,
        }
    )
    assert parse.decode_namespace(manifest).annotations == {"shuntyard.io/a": "1"}
    assert parse.decode_resource_quota(manifest).annotations == {"shuntyard.io/a": "1"}
    assert parse.decode_priority_class(manifest).value == 5
