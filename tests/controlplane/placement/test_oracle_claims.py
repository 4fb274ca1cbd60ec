"""Claims of all kinds find devices where kube-scheduler's allocator finds them, pod after pod.

Random clusters: nodes with devices that one claim has alone, with partitions, and with devices of
which claims take parts; some are held. Each pod names a claim of its own, since no controller makes
claims from templates here; both are counted alike. ``newest`` adds what kube-scheduler does since
1.37: rules of taints, ``distinctAttribute`` of several devices of a request, ``All`` of devices of
which claims take parts.
"""

import itertools
import uuid
from dataclasses import dataclass

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from shared.kube import paths
from tests.controlplane.placement import oracle
from tests.controlplane.placement.oracle import NAMESPACE, Published
from tests.unit.core.expressions.selectors import ATTRIBUTES, CAPACITY, DRIVER, SELECTORS

pytestmark = pytest.mark.controlplane

OWN = f'device.attributes["{DRIVER}"]'
ALIKE = {
    "small": f'{OWN}.size == "s"',
    "large": f'{OWN}.size == "l"',
    "first": f"{OWN}.index < 2",
}
TAINT = {"key": "ill", "effect": "NoSchedule"}
TOLERATION = {"key": "ill", "operator": "Exists"}
CLAIMS = paths.namespaced(paths.RESOURCE_CLAIMS, NAMESPACE)
TAINT_RULES = paths.DEVICE_TAINT_RULES[0]
SEEDS = 12
PODS = 5

_examples = itertools.count()


@dataclass(frozen=True)
class Example:
    """A cluster, the pods that are tried on it, and their claims."""

    nodes: list[dict]
    pods: list[dict]
    published: list[Published]


def device(draw, number):
    attributes = {
        "size": {"string": draw(st.sampled_from("sl"))},
        "index": {"int": number},
    }
    if draw(st.integers(0, 4)):
        attributes["switch"] = {"int": draw(st.integers(0, 1))}
    made = {
        "name": f"gpu-{number}",
        "attributes": attributes,
        "capacity": {"memory": {"value": draw(st.sampled_from(["40Gi", "80Gi"]))}},
    }
    return made | ({"taints": [TAINT]} if one_in(draw, 7) else {})


def partitions(draw):
    """Two devices of four slices each, as wholes, halves and quarters; some are not offered."""
    sizes = [4, 2, 2, 1, 1, 1, 1]
    found = []
    for of in range(2):
        for size in draw(st.permutations(sizes))[: draw(st.integers(2, 7))]:
            one = device(draw, len(found)) | {
                "consumesCounters": [
                    {"counterSet": f"gpu-{of}", "counters": {"slices": {"value": str(size)}}}
                ]
            }
            one["attributes"]["size"] = {"string": "s" if size == 1 else "l"}
            found.append(one)
    counters = [{"name": f"gpu-{of}", "counters": {"slices": {"value": "4"}}} for of in range(2)]
    return found, counters


def in_parts(draw):
    policies = [
        None,
        {"default": "10Gi"},
        {"default": "10Gi", "validValues": ["10Gi", "25Gi", "40Gi"]},
        {"default": "10Gi", "validRange": {"min": "10Gi", "max": "40Gi", "step": "10Gi"}},
    ]
    found = [device(draw, number) for number in range(draw(st.integers(1, 2)))]
    for one in found:
        policy = draw(st.sampled_from(policies))
        one["allowMultipleAllocations"] = True
        if policy:
            one["capacity"]["memory"]["requestPolicy"] = policy
    return found


def slices(node, devices, counters, *, whole):
    count = (2 if counters else 1) + (0 if whole else 1)
    pool = {"name": node, "generation": 1, "resourceSliceCount": count}
    common = {"driver": DRIVER, "nodeName": node, "pool": pool}
    parts = [{"devices": devices}] + ([{"sharedCounters": counters}] if counters else [])
    for number, part in enumerate(parts):
        manifest = {"metadata": {"name": f"of-{node}-{number}"}, "spec": common | part}
        yield Published(paths.RESOURCE_SLICES, manifest)


def held(draw, node, class_name, one):
    """A claim that has a device, or a part of it, as kube-scheduler leaves it."""
    request = {"name": "r", "exactly": {"deviceClassName": class_name}}
    result = {"request": "r", "driver": DRIVER, "pool": node, "device": one["name"]}
    if one.get("allowMultipleAllocations"):
        amount = draw(st.sampled_from(["10Gi", "20Gi"]))
        share = str(uuid.UUID(int=draw(st.integers(0, 2**60)), version=4))
        result |= {"shareID": share, "consumedCapacity": {"memory": amount}}
    manifest = {
        "metadata": {"name": f"{node}-{one['name']}"},
        "spec": {"devices": {"requests": [request]}},
    }
    return Published(CLAIMS, manifest, {"allocation": {"devices": {"results": [result]}}})


def one_in(draw, count):
    return draw(st.integers(0, count - 1)) == 0


def exactly(draw, class_name, *, every):
    found = {"deviceClassName": class_name, "count": draw(st.integers(1, 2))}
    alike = draw(st.none() | st.sampled_from(sorted(ALIKE)))
    if alike:
        found["selectors"] = [{"cel": {"expression": ALIKE[alike]}}]
    if every and one_in(draw, 5):
        found["allocationMode"] = "All"
        del found["count"]
    if one_in(draw, 5):
        found["tolerations"] = [TOLERATION]
    if one_in(draw, 4):
        amount = draw(st.sampled_from(["5Gi", "10Gi", "15Gi", "50Gi"]))
        found["capacity"] = {"requests": {"memory": amount}}
    return found


def request(draw, name, class_name, *, every):
    if draw(st.booleans()):
        admin = {"adminAccess": True} if one_in(draw, 6) else {}
        return {"name": name, "exactly": exactly(draw, class_name, every=every) | admin}
    choices = [exactly(draw, class_name, every=every) | {"name": choice} for choice in ("x", "y")]
    return {"name": name, "firstAvailable": choices}


@st.composite
def requests(draw, class_name, *, newest, in_parts):
    """What one claim requests; ``All`` without constraints, with which it is not modelled."""
    names = ("a", "b")[: draw(st.integers(1, 2))]
    every = newest or not in_parts
    found = {"requests": [request(draw, name, class_name, every=every) for name in names]}
    if draw(st.booleans()):
        kind = draw(st.sampled_from(["matchAttribute", "matchAttribute", "distinctAttribute"]))
        only = {"requests": ["a"]} if draw(st.booleans()) else {}
        found["constraints"] = [{kind: f"{DRIVER}/switch"} | only]
        for option in options(found):
            if option.pop("allocationMode", None) or (kind == "distinctAttribute" and not newest):
                option["count"] = 1
    return {"devices": found}


def options(devices):
    for one in devices["requests"]:
        yield from one.get("firstAvailable") or [one["exactly"]]


def rule(draw, name, pool):
    """A rule for all devices, those of a pool, or those of a name."""
    named = {"driver": DRIVER, "pool": pool, "device": f"gpu-{draw(st.integers(0, 3))}"}
    selector = {key: named[key] for key in sorted(draw(st.sets(st.sampled_from(sorted(named)))))}
    effect = draw(st.sampled_from(["NoSchedule", "NoExecute", "None"]))
    taint = {"key": draw(st.sampled_from(["ill", "odd"])), "effect": effect}
    spec = {"deviceSelector": selector, "taint": taint}
    return Published(TAINT_RULES, {"metadata": {"name": name}, "spec": spec})


def pod(name):
    return {
        "metadata": {"name": name},
        "spec": {
            "schedulerName": oracle.SCHEDULER_NAME,
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "none"}],
            "resourceClaims": [{"name": "devices", "resourceClaimName": name}],
            "tolerations": [{"operator": "Exists"}],
        },
    }


@st.composite
def clusters(draw, *, alike, newest=False):
    """Names of their own for each example; ``alike``: all pods request the same."""
    example = next(_examples)
    class_name = f"c{example}"
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    spec = {"selectors": [selector]}
    published = [Published(paths.DEVICE_CLASSES, {"metadata": {"name": class_name}, "spec": spec})]
    nodes = []
    kind = draw(st.sampled_from(["alone", "alone", "partitions", "parts"]))
    for i in range(draw(st.integers(1, 3))):
        name = f"k{example}-{i}"
        amounts = {"cpu": "8", "memory": "8Gi", "pods": "20"}
        nodes.append(
            {
                "metadata": {"name": name, "labels": {}},
                "spec": {"taints": []},
                "status": {"allocatable": amounts, "capacity": amounts},
            }
        )
        counters = None
        if kind == "partitions":
            devices, counters = partitions(draw)
        elif kind == "parts":
            devices = in_parts(draw)
        else:
            devices = [device(draw, number) for number in range(draw(st.integers(1, 5)))]
        # a pool with counters that is not whole keeps kube-scheduler from serving All on any node
        whole = bool(counters) or not one_in(draw, 7)
        published += slices(name, devices, counters, whole=whole)
        for one in devices:
            if one_in(draw, 5):
                published.append(held(draw, name, class_name, one))
    for number in range(draw(st.integers(0, 2)) if newest else 0):
        pool = draw(st.sampled_from(nodes))["metadata"]["name"]
        published.append(rule(draw, f"r{example}-{number}", pool))
    wants = requests(class_name, newest=newest, in_parts=kind == "parts")
    same = draw(wants)
    pods = [pod(f"w{example}-{i}") for i in range(PODS)]
    for one in pods:
        wanted = same if alike else draw(wants)
        manifest = {"metadata": {"name": one["metadata"]["name"]}, "spec": wanted}
        published.append(Published(CLAIMS, manifest))
    return Example(nodes, pods, published)


@pytest.fixture(scope="module")
def asked(control_plane, tmp_path_factory):
    control_plane.empty()
    with oracle.running(control_plane, tmp_path_factory.mktemp("oracle")) as (runner, answers):
        label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
        runner.run(answers.client.patch(f"{paths.NAMESPACES}/{NAMESPACE}", label))
        yield runner, answers
    control_plane.empty()


@pytest.fixture(scope="module")
def newest(asked):
    """The same, of Kubernetes 1.37 or later."""
    runner, answers = asked
    if not runner.run(answers.serves(TAINT_RULES)):
        pytest.skip("the server has no DeviceTaintRules: it is older than Kubernetes 1.37")
    return asked


GENERATED = [Phase.explicit, Phase.reuse, Phase.generate]  # shrinking would take minutes


def compare(asked, example):
    runner, answers = asked
    runner.run(answers.compare(example.nodes, (), example.pods, example.published))


def fill(asked, example):
    runner, answers = asked
    runner.run(answers.fill(example.nodes, example.pods, example.published))


@settings(max_examples=SEEDS, phases=GENERATED)
@given(example=clusters(alike=False))
def test_a_claim_finds_devices_where_kube_scheduler_finds_them(asked, example) -> None:
    compare(asked, example)


@settings(max_examples=SEEDS, phases=GENERATED)
@given(example=clusters(alike=True))
def test_a_gang_of_claims_is_placed_pod_by_pod_as_planned(asked, example) -> None:
    fill(asked, example)


@settings(max_examples=SEEDS, phases=GENERATED)
@given(example=clusters(alike=False, newest=True))
def test_a_claim_finds_devices_where_the_newest_kube_scheduler_finds_them(newest, example) -> None:
    compare(newest, example)


@settings(max_examples=SEEDS, phases=GENERATED)
@given(example=clusters(alike=True, newest=True))
def test_a_gang_of_claims_is_placed_as_planned_by_the_newest_kube_scheduler(
    newest, example
) -> None:
    fill(newest, example)


def test_selectors_mean_what_they_mean_to_kube_scheduler(asked) -> None:
    """``tests/unit/core/expressions`` holds ours to the same table."""
    runner, answers = asked
    amounts = {"cpu": "8", "memory": "8Gi", "pods": "20"}
    node = {
        "metadata": {"name": "selecting", "labels": {}},
        "spec": {"taints": []},
        "status": {"allocatable": amounts, "capacity": amounts},
    }
    one = {"name": "gpu-0", "attributes": ATTRIBUTES, "capacity": CAPACITY}
    spec = {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]}
    published = [
        Published(paths.DEVICE_CLASSES, {"metadata": {"name": "selected"}, "spec": spec}),
        *slices("selecting", [one], None, whole=True),
    ]
    pods = [pod(f"selecting-{i}") for i in range(len(SELECTORS))]
    for probe, expression in zip(pods, SELECTORS, strict=True):
        selectors = [{"cel": {"expression": expression}}]
        exactly_one = {"deviceClassName": "selected", "selectors": selectors}
        wanted = {"devices": {"requests": [{"name": "r", "exactly": exactly_one}]}}
        published.append(
            Published(CLAIMS, {"metadata": {"name": probe["metadata"]["name"]}, "spec": wanted})
        )
    runner.run(answers.compare([node], (), pods, published))


@pytest.mark.e2e
@settings(max_examples=10 * SEEDS, phases=GENERATED, derandomize=False)
@given(example=clusters(alike=False))
def test_a_claim_finds_devices_where_kube_scheduler_finds_them_on_many_clusters(
    asked, example
) -> None:
    compare(asked, example)


@pytest.mark.e2e
@settings(max_examples=10 * SEEDS, phases=GENERATED, derandomize=False)
@given(example=clusters(alike=True))
def test_gangs_of_claims_are_placed_pod_by_pod_as_planned_on_many_clusters(asked, example) -> None:
    fill(asked, example)


def test_every_claim_was_compared(asked) -> None:
    """No pod waits for other devices at the same time, so all are modelled."""
    assert asked[1].left_alone == 0
