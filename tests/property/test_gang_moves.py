"""Laws of moves of gangs: they end, and each lets the whole cluster train faster."""

import math
from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.parameters.migration import MigrationParameters
from tests.fakes.builders import make_node
from tests.unit.core.migration.migrating_cluster import Train
from tests.unit.core.migration.test_gang_moves import PREFERS_RACK, gang, move
from tests.unit.core.policies.racks import RACK, ZONE

ON = MigrationParameters(gangs=True)
LOSS = 0.1
"""Of its speed, that a gang in several racks has; as `PREFERS_RACK` states it."""
MOST_MOVES = 40
RACKS = {"a": "r1", "b": "r1", "c": "r2", "d": "r2", "e": "r3"}

Places = Mapping[str, tuple[str, ...]]
"""Nodes of the pods of each job."""


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Places, frozenset[str]]:
    """Jobs with their nodes, and which of them prefer a rack; a node holds four pods."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    free = dict.fromkeys(RACKS, 4)
    jobs: dict[str, tuple[str, ...]] = {}
    for number, size in enumerate(sizes):
        nodes = []
        for _ in range(size):
            node = draw(st.sampled_from([name for name, count in free.items() if count]))
            free[node] -= 1
            nodes.append(node)
        jobs[f"j{number}"] = tuple(sorted(nodes))
    return jobs, frozenset(draw(st.sets(st.sampled_from(sorted(jobs)))))


def trains_on(jobs: Places, wishing: frozenset[str]) -> dict[str, list[str | Train]]:
    nodes: dict[str, list[str | Train]] = {name: [] for name in RACKS}
    for name, places in jobs.items():
        notes = PREFERS_RACK if name in wishing else {}
        pods = gang(name, len(places), notes=notes, remaining_seconds=None)
        for pod, node in zip(pods, places, strict=True):
            nodes[node].append(pod)
    return nodes


def total(jobs: Places, wishing: frozenset[str]) -> float:
    """Sum of pods times the logarithm of their job's speed, from the definition."""
    beside = Counter(node for places in jobs.values() for node in places)
    found = 0.0
    for name, places in jobs.items():
        spread = name in wishing and len({RACKS[node] for node in places}) > 1
        slowest = min(1 / beside[node] for node in places)
        found += len(places) * math.log(slowest * (1 - LOSS if spread else 1))
    return found


@given(clusters())
def test_moves_of_gangs_come_to_an_end_and_each_lets_the_cluster_train_faster(
    cluster: tuple[Places, frozenset[str]],
) -> None:
    jobs, wishing = dict(cluster[0]), cluster[1]
    racked = [
        make_node(name, cpu="4", labels={ZONE: "z", RACK: rack}) for name, rack in RACKS.items()
    ]
    for _ in range(MOST_MOVES):
        found = move(trains_on(jobs, wishing), *racked)
        if found is None:
            return
        before = total(jobs, wishing)
        name = found.job.rpartition("/")[2]
        assert len(jobs[name]) > 1
        jobs[name] = tuple(sorted(node for _, node in found.places))
        assert total(jobs, wishing) == pytest.approx(before + found.change)
        assert found.change > 0
    raise AssertionError(jobs)
