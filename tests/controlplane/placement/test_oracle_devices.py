"""Nodes with free devices by our columns are those that kube-scheduler's DynamicResources accepts.

Random clusters: devices of two sizes with and without taints, some held by claims, on nodes with a
driver and on nodes with a device plugin; classes with overlapping selectors, by their resource and
by their name. Where all kinds of a probe are modelled, both must name the same nodes.

Gangs of mixed kinds are placed pod by pod: members with a claim of their own, members that request
a resource of a class, and members without devices.
"""

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from shared.kube import paths
from tests.controlplane.placement import oracle
from tests.controlplane.placement.oracle import NAMESPACE, Published

pytestmark = pytest.mark.controlplane

DRIVER = "gpu.example.com"
SIZE = f'device.attributes["{DRIVER}"].size'
CLASSES = {
    "any": f'device.driver == "{DRIVER}"',
    "small": f'device.driver == "{DRIVER}" && {SIZE} == "s"',
    "large": f'{SIZE} == "l"',
    "memory": f'device.capacity["{DRIVER}"].memory.isGreaterThan(quantity("50Gi"))',
}
TAINT = {"key": "ill", "effect": "NoSchedule"}
CLAIMS = paths.namespaced(paths.RESOURCE_CLAIMS, NAMESPACE)
KINDS = ("claim", "resource", "none")
SEEDS = 8

_examples = itertools.count()


def device(number, size, *, tainted):
    made = {
        "name": f"gpu-{number}",
        "attributes": {"size": {"string": size}},
        "capacity": {"memory": {"value": "40Gi" if size == "s" else "80Gi"}},
    }
    return made | ({"taints": [TAINT]} if tainted else {})


def slices(node, devices, *, whole):
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1 if whole else 2}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    return Published(paths.RESOURCE_SLICES, {"metadata": {"name": f"of-{node}"}, "spec": spec})


def held(node, name, class_name):
    """A claim that has a device, as kube-scheduler leaves it."""
    request = {"name": "r", "exactly": {"deviceClassName": class_name}}
    result = {"request": "r", "driver": DRIVER, "pool": node, "device": name}
    manifest = {
        "metadata": {"name": f"{node}-{name}"},
        "spec": {"devices": {"requests": [request]}},
    }
    return Published(CLAIMS, manifest, {"allocation": {"devices": {"results": [result]}}})


@st.composite
def nodes(draw, name, resources):
    """A node with a driver, with a device plugin, or with both for different resources."""
    amounts = {"cpu": "8", "memory": "8Gi", "pods": "20"}
    plugin = draw(st.none() | st.sampled_from(resources))
    if plugin:
        amounts[plugin] = draw(st.sampled_from(["0", "1", "2"]))
    manifest = {
        "metadata": {"name": name, "labels": {}},
        "spec": {"taints": []},
        "status": {"allocatable": amounts, "capacity": amounts},
    }
    alike = st.sampled_from(["s", "l"]).map(lambda size: [size] * draw(st.integers(1, 3)))
    mixed = st.lists(st.sampled_from("sl"), max_size=3)
    sizes = draw(st.one_of(alike, alike, mixed))
    devices = [device(i, s, tainted=draw(st.integers(0, 5)) == 0) for i, s in enumerate(sizes)]
    return manifest, devices


@st.composite
def served_by_drivers(draw, example):
    """Classes with their resources, and nodes with what drivers publish of them."""
    names = draw(st.lists(st.sampled_from(sorted(CLASSES)), min_size=1, max_size=3, unique=True))
    served = {f"{name}-{example}": f"{name}{example}.example.com/gpu" for name in names}
    classes = [
        Published(
            paths.DEVICE_CLASSES,
            {
                "metadata": {"name": name},
                "spec": {
                    "extendedResourceName": resource,
                    "selectors": [{"cel": {"expression": CLASSES[name.partition("-")[0]]}}],
                },
            },
        )
        for name, resource in served.items()
    ]
    manifests, published = [], []
    for i in range(draw(st.integers(2, 4))):
        manifest, devices = draw(nodes(f"d{example}-{i}", list(served.values())))
        name = manifest["metadata"]["name"]
        manifests.append(manifest)
        if devices:
            published.append(slices(name, devices, whole=draw(st.integers(0, 5)) > 0))
            taken = draw(st.sets(st.sampled_from([d["name"] for d in devices]), max_size=2))
            published += [held(name, one, next(iter(served))) for one in sorted(taken)]
    return served, manifests, [*classes, *published]


def resources_of(served):
    return [*served.values(), *(f"deviceclass.resource.kubernetes.io/{n}" for n in served)]


@st.composite
def clusters(draw):
    """Names of their own for each example, which a watch that lags behind cannot mistake."""
    example = next(_examples)
    served, manifests, published = draw(served_by_drivers(example))
    probes = [draw(probe(f"q{example}-{i}", resources_of(served))) for i in range(6)]
    return manifests, probes, published


@st.composite
def mixed_gangs(draw):
    """A cluster, and a gang with members of each kind in any order."""
    example = next(_examples)
    served, manifests, published = draw(served_by_drivers(example))
    kinds = ["claim", "resource", "none", *draw(st.lists(st.sampled_from(KINDS), max_size=4))]
    members = []
    for i, kind in enumerate(draw(st.permutations(kinds))):
        name = f"m{example}-{i}"
        asked = draw(st.sampled_from(resources_of(served)))
        amounts = {"cpu": str(draw(st.integers(1, 3)))}
        if kind == "resource":
            amounts[asked] = str(draw(st.integers(1, 2)))
        members.append(pod(name, amounts))
        if kind == "claim":
            members[-1]["spec"]["resourceClaims"] = [{"name": "own", "resourceClaimName": name}]
            published.append(draw(claim(name, sorted(served))))
    return manifests, members, published


@st.composite
def claim(draw, name, classes):
    wanted = {"deviceClassName": draw(st.sampled_from(classes)), "count": draw(st.integers(1, 2))}
    requests = [{"name": "r", "exactly": wanted}]
    manifest = {"metadata": {"name": name}, "spec": {"devices": {"requests": requests}}}
    return Published(CLAIMS, manifest)


@st.composite
def probe(draw, name, resources):
    asked = draw(st.lists(st.sampled_from(resources), min_size=1, max_size=2, unique=True))
    return pod(name, {resource: str(draw(st.integers(1, 3))) for resource in asked})


def pod(name, amounts):
    container = {"name": "main", "image": "none"}
    return {
        "metadata": {"name": name},
        "spec": {
            "schedulerName": oracle.SCHEDULER_NAME,
            "automountServiceAccountToken": False,
            "containers": [container | {"resources": {"requests": amounts, "limits": amounts}}],
            "tolerations": [{"operator": "Exists"}],
        },
    }


@pytest.fixture(scope="module")
def asked(control_plane, tmp_path_factory):
    control_plane.empty()
    with oracle.running(control_plane, tmp_path_factory.mktemp("oracle")) as (runner, answers):
        yield runner, answers
    control_plane.empty()


@dataclass
class Compared:
    """How many probes and gangs were compared, and how many were left to kube-scheduler."""

    probes: int = 0
    left_alone: int = 0
    gangs: int = 0
    gangs_left_alone: int = 0


_ALL = Compared()


def compare(asked, cluster):
    runner, answers = asked
    manifests, probes, published = cluster
    before = answers.left_alone
    runner.run(answers.compare(manifests, (), probes, published))
    _ALL.probes += len(probes)
    _ALL.left_alone += answers.left_alone - before


def fill(asked, gang):
    runner, answers = asked
    manifests, members, published = gang
    before = answers.left_alone
    runner.run(answers.fill(manifests, members, published))
    _ALL.gangs += 1
    _ALL.gangs_left_alone += answers.left_alone - before


GENERATED = [Phase.explicit, Phase.reuse, Phase.generate]  # shrinking would take minutes


@settings(max_examples=SEEDS, phases=GENERATED)
@given(cluster=clusters())
def test_our_columns_are_what_kube_scheduler_accepts(asked, cluster) -> None:
    compare(asked, cluster)


@pytest.mark.e2e
@settings(max_examples=10 * SEEDS, phases=GENERATED, derandomize=False)
@given(cluster=clusters())
def test_our_columns_are_what_kube_scheduler_accepts_on_many_clusters(asked, cluster) -> None:
    compare(asked, cluster)


@settings(max_examples=SEEDS, phases=GENERATED)
@given(gang=mixed_gangs())
def test_a_gang_of_mixed_kinds_is_placed_pod_by_pod_as_planned(asked, gang) -> None:
    fill(asked, gang)


@pytest.mark.e2e
@settings(max_examples=10 * SEEDS, phases=GENERATED, derandomize=False)
@given(gang=mixed_gangs())
def test_gangs_of_mixed_kinds_are_placed_pod_by_pod_as_planned_on_many_clusters(
    asked, gang
) -> None:
    fill(asked, gang)


def test_most_probes_and_gangs_were_compared() -> None:
    """The comparisons above say little about what is left to kube-scheduler."""
    assert _ALL.left_alone <= _ALL.probes / 2
    assert _ALL.gangs_left_alone <= _ALL.gangs / 2
