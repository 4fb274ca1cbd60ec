"""Nodes with free devices by our columns are those that kube-scheduler's DynamicResources accepts.

Random clusters: devices of two sizes with and without taints, some held by claims, on nodes with a
driver and on nodes with a device plugin; classes with overlapping selectors, by their resource and
by their name. Where all kinds of a probe are modelled, both must name the same nodes.
"""

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from shared.kube import paths
from tests.controlplane import oracle
from tests.controlplane.oracle import NAMESPACE, Published

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
    path = paths.namespaced(paths.RESOURCE_CLAIMS, NAMESPACE)
    return Published(path, manifest, {"allocation": {"devices": {"results": [result]}}})


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
def clusters(draw):
    """Names of their own for each example, which a watch that lags behind cannot mistake."""
    example = next(_examples)
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
    resources = [*served.values(), *(f"deviceclass.resource.kubernetes.io/{n}" for n in served)]
    manifests, published = [], []
    for i in range(draw(st.integers(2, 4))):
        manifest, devices = draw(nodes(f"d{example}-{i}", list(served.values())))
        name = manifest["metadata"]["name"]
        manifests.append(manifest)
        if devices:
            published.append(slices(name, devices, whole=draw(st.integers(0, 5)) > 0))
            taken = draw(st.sets(st.sampled_from([d["name"] for d in devices]), max_size=2))
            published += [held(name, one, next(iter(served))) for one in sorted(taken)]
    probes = [draw(probe(f"q{example}-{i}", resources)) for i in range(6)]
    return manifests, probes, [*classes, *published]


@st.composite
def probe(draw, name, resources):
    asked = draw(st.lists(st.sampled_from(resources), min_size=1, max_size=2, unique=True))
    amounts = {resource: str(draw(st.integers(1, 3))) for resource in asked}
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
    """How many probes were compared, and how many were left to kube-scheduler."""

    probes: int = 0
    left_alone: int = 0


_ALL = Compared()


def compare(asked, cluster):
    runner, answers = asked
    manifests, probes, published = cluster
    runner.run(answers.compare(manifests, (), probes, published))
    _ALL.probes += len(probes)
    _ALL.left_alone = answers.left_alone


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


def test_most_probes_were_compared() -> None:
    """The comparison above says little about what is left to kube-scheduler."""
    assert _ALL.left_alone <= _ALL.probes / 2
