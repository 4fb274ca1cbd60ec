"""Rankings of nodes kept for single pods, by shape."""

import numpy as np
import pytest

from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.placement import NodePriceParameters, ScoringWeights
from extender.core.placement import single_pod
from extender.core.placement.placement import Placement
from extender.core.placement.single_pod import MOST_SHAPES, SinglePodPlacements
from tests.fakes.builders import make_room
from tests.unit.core.policies.gangs import members, nodes, place_gang


def placed(placements: SinglePodPlacements, table: NodeTable, **shaped: object) -> Placement | None:
    return placements.place(
        members("worker", 1, **shaped)[0],
        table,
        spare_count=2,
        weights=ScoringWeights(),
        pricing=NodePriceParameters(),
    )


@pytest.fixture
def ranked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many nodes were ranked, call by call."""
    counts: list[int] = []
    rank = single_pod._Ranking._rank

    def counted(ranking: object, rows: np.ndarray) -> None:
        counts.append(len(rows))
        rank(ranking, rows)

    monkeypatch.setattr(single_pod._Ranking, "_rank", counted)
    return counts


def test_for_the_second_pod_only_the_node_of_the_first_is_ranked(ranked: list[int]) -> None:
    placements, table = SinglePodPlacements(), make_room(*nodes(a=2, b=2, c=2))
    for _ in range(3):
        placement = placed(placements, table)
        assert placement is not None
        table = placement.node_table
    assert ranked == [3, 1, 1, 1]


def test_a_placement_that_was_not_used_changes_nothing() -> None:
    placements, table = SinglePodPlacements(), make_room(*nodes(a=1, b=2))
    first, again = placed(placements, table), placed(placements, table)
    assert first is not None
    assert again is not None
    assert first.nodes == again.nodes == place_gang(members("worker", 1), table).nodes


def test_other_nodes_are_ranked_anew(ranked: list[int]) -> None:
    placements = SinglePodPlacements()
    placed(placements, make_room(*nodes(a=2)))
    placement = placed(placements, make_room(*nodes(a=1, b=3)))
    assert placement is not None
    assert placement.nodes == {"worker-0": "a"}
    assert ranked == [1, 1, 2, 1]


def test_the_least_recently_used_shape_is_dropped(ranked: list[int]) -> None:
    placements, table = SinglePodPlacements(), make_room(*nodes(a=64, b=64))
    for cpu in (*range(1, MOST_SHAPES + 2), 2, 1):
        placed(placements, table, cpu=str(cpu))
    whole = [rows for rows in ranked if rows == len(table.nodes)]
    assert len(whole) == MOST_SHAPES + 2  # all once, and the first again


@pytest.mark.parametrize(
    "shaped", [{"host_ports": [80]}, {"cpu": "0", "memory": "0"}, {"cpu": "9"}]
)
def test_other_pods_are_left_to_the_gang_rules(shaped: dict[str, object]) -> None:
    assert placed(SinglePodPlacements(), make_room(*nodes(a=2)), **shaped) is None
