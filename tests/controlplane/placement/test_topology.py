"""Gangs that ask for a rack, on a real control plane: in one rack, or waiting with a reason."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress

import pytest

from devcluster.options import KwokNodes
from extender.core.parameters.placement import LEVELS
from shared import foreign_labels, labels
from shared.kube import paths
from shared.kube.errors import NotFoundError
from tests.controlplane.jobs import Pods, job
from tests.controlplane.watching import annotation, is_gated, node_of, queued_condition
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually
from tests.fakes.kube_definitions import DEFINITIONS, definition

pytestmark = pytest.mark.controlplane

ROW = "example.com/row"
KUEUE_KEY = foreign_labels.KUEUE_REQUIRED_TOPOLOGY
RACK = next(level.label for level in LEVELS if level.name == "rack")
IN_ONE = Pods().annotated({labels.REQUIRED_TOPOLOGY: "rack"})


@pytest.fixture
def kwok_nodes() -> Sequence[KwokNodes]:
    """Two racks of 8 and of 6 CPU, and a node of 32 CPU in none."""
    return (
        KwokNodes(2, prefix="east", cpu="4", labels={RACK: "r1"}),
        KwokNodes(3, prefix="west", cpu="2", labels={RACK: "r2"}),
        KwokNodes(1, prefix="loose", cpu="32"),
    )


def nodes_of(yard: Yard, name: str) -> set[str]:
    """Prefixes of the nodes where its pods are."""
    return {str(node_of(found)).partition("-")[0] for found in yard.of(name)}


KUEUE = Pods().annotated({foreign_labels.KUEUE_REQUIRED_TOPOLOGY: RACK})


@pytest.mark.parametrize("pods", [IN_ONE, KUEUE], ids=["ours", "kueue"])
async def test_a_gang_lands_in_the_tightest_rack_that_holds_it(yard: Yard, pods: Pods) -> None:
    await yard.submit(job("it", 6, pods))
    await yard.until_bound("it")
    assert nodes_of(yard, "it") == {"west"}
    (domain,) = {json.loads(annotation(p, labels.DECISION))["domain"] for p in yard.of("it")}
    assert domain == "rack r2"


async def test_a_gang_that_no_rack_holds_waits_whole_until_one_does(yard: Yard) -> None:
    await yard.submit(job("wide", 9, IN_ONE))
    entry = await yard.until_waiting("wide", "TopologyPlacementFailed")
    assert "8 of 9 pods fit in rack r1, and no other rack holds more" in entry.message
    await eventually(lambda: _all_pods_have_the_reason(yard, "wide"))
    event = (await eventually(lambda: yard.events("TopologyPlacementFailed", "Job")))[0]
    assert "8 of 9 pods fit in rack r1" in event["note"]
    await yard.submit(job("other", 2))
    await yard.until_bound("other")
    assert all(is_gated(found) for found in yard.of("wide"))
    await yard.nodes(KwokNodes(1, prefix="west", first=3, cpu="8", labels={RACK: "r2"}))
    await yard.until_bound("wide")
    assert nodes_of(yard, "wide") == {"west"}


THREES = {
    "ours": {labels.SLICE_REQUIRED_TOPOLOGY: "rack", labels.SLICE_SIZE: "3"},
    "kueue": {
        foreign_labels.KUEUE_SLICE_REQUIRED_TOPOLOGY: RACK,
        foreign_labels.KUEUE_SLICE_SIZE: "3",
    },
}


@pytest.mark.parametrize("notes", THREES.values(), ids=THREES)
async def test_each_slice_lands_in_one_rack(yard: Yard, notes: dict[str, str]) -> None:
    await yard.submit(job("it", 12, Pods().annotated(notes)))
    await yard.until_bound("it")
    racks: dict[int, set[str]] = {}
    for found in yard.of("it"):
        number = int(found["metadata"]["labels"][labels.JOB_INDEX_LABEL]) // 3
        racks.setdefault(number, set()).add(str(node_of(found)).partition("-")[0])
    assert sorted(map(sorted, racks.values())) == [["east"], ["east"], ["west"], ["west"]]


async def test_slices_that_no_racks_hold_wait_with_their_number(yard: Yard) -> None:
    notes = {labels.SLICE_REQUIRED_TOPOLOGY: "rack", labels.SLICE_SIZE: "7"}
    await yard.submit(job("it", 14, Pods().annotated(notes)))
    entry = await yard.until_waiting("it", "TopologyPlacementFailed")
    assert "1 of 2 slices of 7 pods fit, each in one rack" in entry.message
    assert all(is_gated(found) for found in yard.of("it"))
    await yard.nodes(KwokNodes(1, prefix="west", first=3, cpu="1", labels={RACK: "r2"}))
    await yard.until_bound("it")


LAYERS = {
    "ours": {labels.SLICE_REQUIRED_TOPOLOGY: "rack, hostname", labels.SLICE_SIZE: "4, 2"},
    "kueue": {
        foreign_labels.KUEUE_SLICE_LAYERS: json.dumps(
            [{"topology": RACK, "size": 4}, {"topology": labels.HOSTNAME_LABEL, "size": 2}]
        )
    },
}


@pytest.mark.parametrize("notes", LAYERS.values(), ids=LAYERS)
async def test_slices_of_a_rack_are_divided_among_its_nodes(
    yard: Yard, notes: dict[str, str]
) -> None:
    await yard.submit(job("it", 12, Pods().annotated(notes)))
    await yard.until_bound("it")
    at = {
        int(found["metadata"]["labels"][labels.JOB_INDEX_LABEL]): str(node_of(found))
        for found in yard.of("it")
    }
    assert all(at[i] == at[i + 1] for i in range(0, 12, 2))
    racks = [{at[i].partition("-")[0] for i in range(first, first + 4)} for first in (0, 4, 8)]
    assert sorted(map(sorted, racks)) == [["east"], ["east"], ["west"]]


SPREAD = {labels.PREFERRED_TOPOLOGY: "rack"}


async def test_a_spread_gang_is_in_equal_parts(yard: Yard) -> None:
    """Six and six, where one rack would hold eight."""
    await yard.submit(job("it", 12, Pods().annotated(SPREAD)))
    await yard.until_bound("it")
    assert per_rack(yard, "it") == {"east": 6, "west": 6}


async def test_a_gang_that_requires_equal_parts_waits_for_them(yard: Yard) -> None:
    notes = {**SPREAD, labels.EQUAL_PARTS: "required"}
    await yard.submit(job("it", 14, Pods().annotated(notes)))
    entry = await yard.until_waiting("it", "TopologyPlacementFailed")
    assert "no number of domains (rack) takes equal parts of its 14 pods" in entry.message
    assert all(is_gated(found) for found in yard.of("it"))
    await yard.nodes(KwokNodes(1, prefix="west", first=3, cpu="1", labels={RACK: "r2"}))
    await yard.until_bound("it")
    assert per_rack(yard, "it") == {"east": 7, "west": 7}


def per_rack(yard: Yard, name: str) -> dict[str, int]:
    return dict(Counter(str(node_of(found)).partition("-")[0] for found in yard.of(name)))


@pytest.fixture
async def topologies(yard: Yard) -> AsyncIterator[str]:
    """Kueue's kind Topology, without Kueue."""
    path = paths.TOPOLOGIES[0]
    made = definition(path, "Topology", scope="Cluster")
    await yard.client.post(DEFINITIONS, made)
    yield path
    await yard.client.delete(f"{DEFINITIONS}/{made['metadata']['name']}")


async def test_a_level_of_kueues_topology_can_be_required(yard: Yard, topologies: str) -> None:
    await yard.nodes(KwokNodes(2, prefix="row", cpu="3", labels={ROW: "7"}))
    await yard.submit(job("it", 6, Pods().annotated({KUEUE_KEY: ROW})))
    entry = await yard.until_waiting("it", "Misconfigured")
    assert ROW in entry.message
    levels = [{"nodeLabel": label} for label in (ROW, RACK, labels.HOSTNAME_LABEL)]
    body = {"metadata": {"name": "default"}, "spec": {"levels": levels}}
    version = paths.group_version(topologies)
    await eventually(
        lambda: _made(yard, topologies, {"apiVersion": version, "kind": "Topology", **body})
    )
    await yard.until_bound("it")
    assert nodes_of(yard, "it") == {"row"}


async def _made(yard: Yard, path: str, body: dict[str, object]) -> bool:
    with suppress(NotFoundError):
        await yard.client.post(path, body)
        return True
    return False


async def test_parameter_servers_have_their_rack_and_workers_their_slices(yard: Yard) -> None:
    common = {labels.MIN_AVAILABLE: "11"}
    ps = Pods().labelled(job="it", role="ps").annotated({**common, **IN_ONE.annotations})
    workers = Pods().labelled(job="it", role="worker").annotated({**common, **THREES["ours"]})
    await yard.submit(job("ps", 2, ps))
    await yard.submit(job("worker", 9, workers))
    await yard.until_bound("it")
    assert len(nodes_of_role(yard, "ps")) == 1
    for number in range(3):
        assert len(nodes_of_role(yard, "worker", range(3 * number, 3 * number + 3))) == 1


def nodes_of_role(yard: Yard, role: str, indices: Iterable[int] = range(99)) -> set[str]:
    """Prefixes of the nodes where pods of a role are."""
    return {
        str(node_of(found)).partition("-")[0]
        for found in yard.of("it")
        if found["metadata"]["labels"][labels.ROLE] == role
        and int(found["metadata"]["labels"][labels.JOB_INDEX_LABEL]) in indices
    }


async def test_a_preferred_rack_keeps_no_gang_waiting(yard: Yard) -> None:
    pods = Pods().annotated({labels.PREFERRED_TOPOLOGY: "rack"})
    await yard.submit(job("it", 10, pods))
    await yard.until_bound("it")
    assert nodes_of(yard, "it") == {"east", "west"}


async def test_pods_that_only_kube_scheduler_can_place_are_held_in_the_rack(yard: Yard) -> None:
    apart = {"topologyKey": labels.HOSTNAME_LABEL, "labelSelector": {"matchLabels": {"a": "b"}}}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    spec = {"affinity": {"podAntiAffinity": {required: [apart]}}}
    pods = Pods(cpu="2", labels={"a": "b"}, spec=spec)
    await yard.submit(job("it", 3, pods.annotated({labels.REQUIRED_TOPOLOGY: "rack"})))
    await yard.until_bound("it")
    assert nodes_of(yard, "it") == {"west"}
    assert {annotation(found, labels.NODE) for found in yard.of("it")} == {""}


def _all_pods_have_the_reason(yard: Yard, name: str) -> bool:
    conditions = [queued_condition(found) for found in yard.of(name)]
    return bool(conditions) and all(
        c.get("reason") == "TopologyPlacementFailed" for c in conditions
    )
