"""What is remembered of single pods' shapes, and for how long."""

import numpy as np
import pytest

from extender.core.nodes.node_table import NodeTable
from extender.core.parameters.placement import NodePriceParameters, ScoringWeights
from extender.core.placement import single_pod
from extender.core.placement.placement import Placement
from extender.core.placement.single_pod import MOST_SHAPES, SinglePodPlacements
from tests.fakes.builders import make_room
from tests.unit.core.policies.gangs import members, nodes, place_gang


def ask(placements: SinglePodPlacements, room: NodeTable, **shaped: object) -> Placement | None:
    return placements.place(
        members("worker", 1, **shaped)[0],
        room,
        spare_count=2,
        weights=ScoringWeights(),
        pricing=NodePriceParameters(),
    )


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many nodes were looked at, look by look."""
    seen: list[int] = []
    look = single_pod._Ranking._look

    def noted(ranking: object, rows: np.ndarray) -> None:
        seen.append(len(rows))
        look(ranking, rows)

    monkeypatch.setattr(single_pod._Ranking, "_look", noted)
    return seen


def test_the_second_pod_looks_at_the_node_of_the_first(looked: list[int]) -> None:
    placements, room = SinglePodPlacements(), make_room(*nodes(a=2, b=2, c=2))
    for _ in range(3):
        found = ask(placements, room)
        assert found is not None
        room = found.node_table
    assert looked == [3, 1, 1, 1]


def test_a_placement_that_was_not_taken_is_forgotten() -> None:
    placements, room = SinglePodPlacements(), make_room(*nodes(a=1, b=2))
    first, again = ask(placements, room), ask(placements, room)
    assert first is not None
    assert again is not None
    assert first.nodes == again.nodes == place_gang(members("worker", 1), room).nodes


def test_other_nodes_are_another_room(looked: list[int]) -> None:
    placements = SinglePodPlacements()
    ask(placements, make_room(*nodes(a=2)))
    found = ask(placements, make_room(*nodes(a=1, b=3)))
    assert found is not None
    assert found.nodes == {"worker-0": "a"}
    assert looked == [1, 1, 2, 1]


def test_the_shape_that_rests_longest_goes(looked: list[int]) -> None:
    placements, room = SinglePodPlacements(), make_room(*nodes(a=64, b=64))
    for cpu in (*range(1, MOST_SHAPES + 2), 2, 1):
        ask(placements, room, cpu=str(cpu))
    whole = [rows for rows in looked if rows == len(room.nodes)]
    assert len(whole) == MOST_SHAPES + 2  # all once, and the first again


@pytest.mark.parametrize(
    "shaped", [{"host_ports": [80]}, {"cpu": "0", "memory": "0"}, {"cpu": "9"}]
)
def test_what_it_does_not_know_is_left_to_the_gang_rules(shaped: dict[str, object]) -> None:
    assert ask(SinglePodPlacements(), make_room(*nodes(a=2)), **shaped) is None
