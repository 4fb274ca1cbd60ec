"""Our masks equal what the real kube-scheduler's filters accept, on random clusters and pods."""

import itertools

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.controlplane.placement import oracle

pytestmark = pytest.mark.controlplane

GPU = "example.com/gpu"
ZONES, RANKS = st.sampled_from(["a", "b"]), st.sampled_from(["1", "7", "x"])
KEYS = st.sampled_from(["zone", "rank", "none"])
VALUES = st.sampled_from(["a", "b", "1", "3", "x", ""])
EFFECTS = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
CPU, MEMORY = st.sampled_from(["500m", "1", "2"]), st.sampled_from(["1Gi", "1500M", "2Gi"])
CORDON, NOT_READY = "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready"
TAINT_KEYS = st.sampled_from(["team", "gpu", CORDON, NOT_READY])
MOST_NODES = 8

_examples = itertools.count()


def sometimes(strategy):
    return st.none() | strategy


def given_ones(**fields):
    """A dictionary of the fields that are not None."""
    return st.fixed_dictionaries(fields).map(
        lambda drawn: {key: value for key, value in drawn.items() if value is not None}
    )


def unique(strategy, key, most):
    return st.lists(strategy, max_size=most, unique_by=key)


labels = given_ones(zone=ZONES | st.none(), rank=RANKS | st.none())
taints = unique(
    given_ones(key=TAINT_KEYS, value=sometimes(st.sampled_from(["x", "y"])), effect=EFFECTS),
    lambda taint: (taint["key"], taint["effect"]),
    2,
)
tolerations = st.lists(
    st.one_of(
        given_ones(
            key=TAINT_KEYS,
            operator=sometimes(st.just("Equal")),
            value=sometimes(st.sampled_from(["x", "y"])),
            effect=sometimes(EFFECTS),
        ),
        given_ones(
            key=sometimes(TAINT_KEYS), operator=st.just("Exists"), effect=sometimes(EFFECTS)
        ),
    ),
    max_size=3,
)
expressions = st.one_of(
    given_ones(
        key=KEYS,
        operator=st.sampled_from(["In", "NotIn"]),
        values=st.lists(VALUES, min_size=1, max_size=2),
    ),
    given_ones(key=KEYS, operator=st.sampled_from(["Exists", "DoesNotExist"])),
    given_ones(
        key=st.sampled_from(["rank", "rank", "zone"]),
        operator=st.sampled_from(["Gt", "Lt"]),
        values=st.sampled_from(["1", "3", "7", "x"]).map(lambda value: [value]),
    ),
)
host_ports = given_ones(
    containerPort=st.just(80),
    hostPort=st.sampled_from([8080, 8081]),
    hostIP=sometimes(st.sampled_from(["127.0.0.1", "10.0.0.1"])),
    protocol=st.sampled_from(["TCP", "UDP"]),
)


def container(name, cpu=CPU, *, ports=False, restart=None):
    requests = given_ones(
        cpu=sometimes(cpu),
        memory=sometimes(MEMORY),
        gpu=sometimes(st.sampled_from(["0", "1", "2"])),
    )
    port_lists = unique(host_ports, lambda p: (p["hostPort"], p["protocol"]), 1)
    return st.builds(_container, st.just(name), requests, port_lists if ports else st.just([])).map(
        lambda made: made | ({"restartPolicy": restart} if restart else {})
    )


def _container(name, requests, ports):
    amounts = {GPU if key == "gpu" else key: value for key, value in requests.items()}
    limits = {GPU: amounts[GPU]} if GPU in amounts else {}
    resources = {"requests": amounts, "limits": limits}
    return {"name": name, "image": "none", "resources": resources, "ports": ports}


containers = st.one_of(
    container("main", ports=True).map(lambda main: [main]),
    st.tuples(container("main", ports=True), container("second")).map(list),
)
init_containers = st.one_of(
    st.just([]),
    st.tuples(container("first")).map(list),
    st.tuples(container("sidecar", ports=True, restart="Always"), container("last")).map(list),
)


@st.composite
def nodes(draw, name):
    resources = draw(
        given_ones(
            cpu=st.sampled_from(["1500m", "2", "3", "4"]),
            memory=st.sampled_from(["2Gi", "3Gi", "4Gi"]),
            pods=st.sampled_from(["0", "2", "9", "9", "9", "9"]),
            gpu=sometimes(st.sampled_from(["0", "1", "2"])),
        )
    )
    amounts = {GPU if key == "gpu" else key: value for key, value in resources.items()}
    return {
        "metadata": {"name": name, "labels": draw(labels)},
        "spec": {
            "taints": draw(st.just([]) | taints),
            "unschedulable": draw(st.sampled_from([False, False, False, True])),
        },
        "status": {"allocatable": amounts, "capacity": amounts},
    }


@st.composite
def terms(draw, names):
    lines = st.lists(expressions, max_size=2)
    fields = given_ones(
        key=st.just("metadata.name"),
        operator=st.sampled_from(["In", "NotIn"]),
        values=st.sampled_from(names).map(lambda name: [name]),
    )
    return {
        "matchExpressions": draw(lines),
        "matchFields": draw(st.just([]) | st.lists(fields, max_size=2)),
    }


@st.composite
def pods(draw, name, node=None, alike=None):
    """A pod that was bound some time ago, whether or not its node would accept it now."""
    return {
        "metadata": {
            "name": name,
            "annotations": {
                "fate": draw(st.sampled_from(["runs", "runs", "deleting", "Succeeded", "Failed"]))
            },
        },
        "spec": {
            "schedulerName": oracle.SCHEDULER_NAME,
            "automountServiceAccountToken": False,
            "containers": alike or draw(containers),
            "initContainers": [] if alike else draw(init_containers),
            **({"nodeName": node} if node else {}),
        },
    }


EVERYTHING = [{"operator": "Exists"}]
ANYWHERE = [{"name": "main", "image": "none"}]
FEATURES = ["requests", "requests", "ports", "selector", "affinity", "affinity", "tolerations"]


@st.composite
def probes(draw, name, names):
    """A pod with one or two features; with all of them most pods would fit nowhere."""
    features = draw(st.sets(st.sampled_from(FEATURES), min_size=1, max_size=2))
    pod = draw(pods(name)) if "requests" in features else draw(pods(name, alike=ANYWHERE))
    spec = pod["spec"]
    spec["tolerations"] = draw(tolerations) if "tolerations" in features else EVERYTHING
    if "ports" in features:
        spec["containers"] = [spec["containers"][0] | {"ports": [draw(host_ports)]}]
    if "selector" in features:
        spec["nodeSelector"] = draw(labels)
    if "affinity" in features:
        required = {"nodeSelectorTerms": draw(st.lists(terms(names), min_size=1, max_size=2))}
        key = "requiredDuringSchedulingIgnoredDuringExecution"
        spec["affinity"] = {"nodeAffinity": {key: required}}
    return pod


@st.composite
def clusters(draw):
    """Names of their own for each example, which a watch that lags behind cannot mistake."""
    example = next(_examples)
    names = [f"n{example}-{i}" for i in range(draw(st.integers(3, MOST_NODES)))]
    places = draw(st.lists(st.sampled_from(names), max_size=8))
    return (
        [draw(nodes(name)) for name in names],
        [draw(pods(f"p{example}-{i}", node)) for i, node in enumerate(places)],
        [draw(probes(f"q{example}-{i}", names)) for i in range(draw(st.integers(4, 8)))],
    )


@pytest.fixture(scope="module")
def asked(control_plane, tmp_path_factory):
    control_plane.empty()
    with oracle.running(control_plane, tmp_path_factory.mktemp("oracle")) as (runner, answers):
        yield runner, answers
    control_plane.empty()


@settings(
    max_examples=max(25, settings.default.max_examples // 4),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking would take minutes
)
@given(cluster=clusters())
def test_our_masks_are_what_kube_scheduler_accepts(asked, cluster) -> None:
    runner, answers = asked
    runner.run(answers.compare(*cluster))
    assert answers.left_alone == 0
