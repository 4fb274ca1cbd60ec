"""The levels in force: those of the settings in the order of Kueue's Topology objects."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster import levels
from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.placement import LEVELS, Level, TopologyParameters
from shared import labels
from shared.model import Topology
from tests.fakes.builders import make_node
from tests.unit.core.clusters import snapshot_of, store_of

ZONE, BLOCK, RACK, NVLINK, HOSTNAME = LEVELS
GKE_BLOCK = "cloud.google.com/gce-topology-block"
ROW = Level("example.com/row", "example.com/row")

ORDERS = {
    "none": ([], LEVELS),
    "the order of the settings": ([BLOCK.label, RACK.label], LEVELS),
    "another label of a level": ([GKE_BLOCK, labels.HOSTNAME_LABEL], LEVELS),
    "another order": ([RACK.label, BLOCK.label], (ZONE, RACK, BLOCK, NVLINK, HOSTNAME)),
    "a level of its own in between": (
        [BLOCK.label, ROW.label, RACK.label],
        (ZONE, BLOCK, ROW, RACK, NVLINK, HOSTNAME),
    ),
    "a level of its own at the end": ([RACK.label, ROW.label], (*LEVELS, ROW)),
    "a level of its own twice": (
        [ROW.label, ROW.label, BLOCK.label],
        (ZONE, ROW, BLOCK, RACK, NVLINK, HOSTNAME),
    ),
    "the name of a level as a label": (["rack", BLOCK.label], LEVELS),
}


@pytest.mark.parametrize(("named", "want"), ORDERS.values(), ids=ORDERS)
def test_a_topology_orders_the_levels(named: list[str], want: tuple[Level, ...]) -> None:
    assert levels.ordered(LEVELS, named) == want


texts = [*(label for level in LEVELS for label in level.labels), "rack", "zone", "a/b", "c/d"]


@given(st.lists(st.lists(st.sampled_from(texts), max_size=8), max_size=3))
def test_topologies_take_no_level_away_and_the_last_one_is_in_order(named: list[list[str]]) -> None:
    found = tuple(LEVELS)
    for one in named:
        found = levels.ordered(found, one)
    TopologyParameters(levels=found)  # no name and no label twice
    assert set(found) >= set(LEVELS)
    if named:
        places = [at for label in named[-1] for at, v in enumerate(found) if label in v.labels]
        assert list(dict.fromkeys(places)) == sorted(set(places))


def test_a_session_has_the_levels_of_the_cluster() -> None:
    store = store_of(make_node())
    configured = CoreParameters()
    assert Session(store.snapshot(), Reading(0, 0), configured).parameters is configured
    topology = Topology(name="default", levels=(ROW.label, RACK.label))
    snapshot = snapshot_of(make_node(), topology)
    first = Session(snapshot, Reading(0, 0), configured).parameters
    assert first.topology.levels == (ZONE, BLOCK, ROW, RACK, NVLINK, HOSTNAME)
    assert Session(snapshot, Reading(9, 9), configured).parameters is first
    assert Session(snapshot, Reading(9, 9), first).parameters.topology == first.topology
