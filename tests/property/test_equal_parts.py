"""Laws of equal parts, against brute force on small clusters."""

from collections import Counter
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from extender.core.placement.equal_parts import exactly_equal, nearly_equal
from extender.core.placement.placement import Placement
from extender.core.placement.slice_parts import Layer, WantedSlices
from extender.core.placement.topology import Wanted
from shared.model import PodShape
from tests.property.test_slice_layers import slots
from tests.property.test_topology import domain, node_lists, room_of, shapes
from tests.unit.core.policies.gangs import members, place
from tests.unit.core.policies.racks import INDEX

amounts = st.lists(st.integers(0, 5), min_size=1, max_size=4)


def equal_by_hand(holds: list[int], held: list[int], count: int) -> set[int]:
    """Return the numbers of domains that can have equal parts once the rest is placed."""
    found = set()
    for more in product(*(range(min(room, count) + 1) for room in holds)):
        parts = {own + new for own, new in zip(held, more, strict=True)} - {0}
        if sum(more) == count and len(parts) == 1:
            found.add((sum(held) + count) // parts.pop())
    return found


@given(amounts, st.integers(1, 6), st.data())
def test_exactly_equal_parts_are_found_if_there_are_any_in_the_fewest_domains(
    holds: list[int], count: int, data: st.DataObject
) -> None:
    held = data.draw(st.lists(st.integers(0, 3), min_size=len(holds), max_size=len(holds)))
    parts = exactly_equal(np.array(holds), np.array(held), count)
    possible = equal_by_hand(holds, held, count)
    assert (parts is not None) == bool(possible)
    if parts is None:
        return
    after = held.copy()
    for domain_, number in parts:
        assert 0 < number <= holds[domain_]
        after[domain_] += number
    assert sum(after) == sum(held) + count
    assert len({number for number in after if number}) == 1
    assert sum(map(bool, after)) == min(possible)


@given(amounts, st.integers(1, 8))
def test_nearly_equal_parts_differ_by_one_in_the_fewest_domains_that_could_hold_the_sum(
    holds: list[int], count: int
) -> None:
    parts = nearly_equal(np.array(holds), count)
    ordered = sorted(holds, reverse=True)
    fewest = next((k for k in range(1, len(holds) + 1) if sum(ordered[:k]) >= count), None)
    if fewest is None:
        assert parts is None
        return
    sizes = sorted((count // fewest + (i < count % fewest) for i in range(fewest)), reverse=True)
    possible = all(has >= size for has, size in zip(ordered, sizes, strict=False))
    assert (parts is not None) == possible
    if parts is not None:
        assert sorted((number for _, number in parts), reverse=True) == sizes
        assert all(number <= holds[domain_] for domain_, number in parts)


def wanted(level: str, size: int, *, over: str | None = None, equal: bool) -> Wanted:
    slices = WantedSlices((Layer(INDEX[level], size),)) if size > 1 else None
    return Wanted(INDEX[over or level], required=False, slices=slices, equal=equal)


@given(node_lists, shapes, st.integers(1, 6), st.integers(1, 3), st.sampled_from([None, "zone"]))
def test_a_gang_that_requires_equal_parts_has_them_or_waits(
    rows: list[dict[str, object]], shape: PodShape, count: int, size: int, over: str | None
) -> None:
    room, count = room_of(rows), count * size
    result = place(
        members("worker", count, shape), room, topology=wanted("rack", size, over=over, equal=True)
    )
    racks: Counter[object] = Counter()
    for node, held in zip(room.nodes, slots(shape, room, count), strict=True):
        racks[domain(room, node.name, "rack")] += held
    level = over or "rack"
    holds: Counter[object] = Counter()
    for rack, held in racks.items():
        if rack is not None:
            holds[rack if level == "rack" else rack[0]] += held // size if size > 1 else held
    if over == "zone" and size == 1:
        holds = Counter()
        for node, held in zip(room.nodes, slots(shape, room, count), strict=True):
            holds[domain(room, node.name, "zone")] += held
    holds.pop(None, None)
    rooms = list(holds.values())
    assert isinstance(result, Placement) == bool(
        equal_by_hand(rooms, [0] * len(rooms), count // size)
    )
    if isinstance(result, Placement):
        used = Counter(domain(room, node, level) for node in result.nodes.values())
        assert None not in used
        assert len(set(used.values())) == 1
