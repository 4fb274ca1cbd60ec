"""Rough projections: what fits is what fits, and their starts are near those of exact ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster.session import Session
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import BackfillParameters, KeepsRoom, Order
from extender.core.queue import forecast
from extender.core.queue.room import PodClass, Room
from tests.fakes.builders import make_node
from tests.fakes.deciding import queue_pass
from tests.unit.core.queue.runs import START, Spec, World

NODES, RESOURCES = 4, 2
AMOUNTS = st.lists(st.integers(0, 5), min_size=RESOURCES, max_size=RESOURCES)
CLASSES = st.lists(
    st.tuples(AMOUNTS, st.lists(st.booleans(), min_size=NODES, max_size=NODES)),
    min_size=1,
    max_size=4,
)
CHANGES = st.lists(st.tuples(st.integers(0, NODES - 1), AMOUNTS, st.booleans()), max_size=12)


@given(free=st.lists(AMOUNTS, min_size=NODES, max_size=NODES), classes=CLASSES, changes=CHANGES)
def test_what_fits_is_up_to_date_after_every_change(free, classes, changes):
    pods = [PodClass(np.array(request), np.array(allowed)) for request, allowed in classes]
    room = Room(np.array(free, dtype=np.int64), pods)
    for node, amounts, added in changes:
        room.change(np.array([node]), np.array([amounts]) * (1 if added else -1))
        for number, (request, allowed) in enumerate(pods):
            asked = [column for column in range(RESOURCES) if request[column]]
            if not asked:
                continue
            fit = [
                max(0, min(int(room.free[i, c] // request[c]) for c in asked)) if allowed[i] else 0
                for i in range(NODES)
            ]
            assert room.totals[number] == sum(fit)
            for count in range(1, sum(fit) + 1):
                chosen = room.nodes_for(number, count).tolist()
                assert len(chosen) == count
                assert all(chosen.count(i) <= fit[i] for i in set(chosen))


@given(
    lasts=st.lists(st.integers(20, 400), min_size=3, max_size=12),
    keeps=st.sampled_from(KeepsRoom),
)
def test_jobs_of_one_pod_start_nearly_when_exact_projections_say(lasts, keeps):
    """Each moment is late by a fiftieth of the time ahead at most, and delays the next ones."""
    params = CoreParameters(
        order=Order.CREATION,
        waiting=BackfillParameters(default_max_wait_seconds=None, keeps_room=keeps),
    )
    nodes = [make_node("a", cpu="2"), make_node("b", cpu="1")]
    specs = [Spec(f"j{i}", cpu="1", comes_at=float(i), lasts=float(s)) for i, s in enumerate(lasts)]
    world = World(nodes, specs, params).run(until=START + 12.0)
    world.now = START + 12.0
    outcome = queue_pass(world.observe(), world.state, world.reading, params)
    session = Session(world.observe(), world.reading, params)
    exact = forecast.estimates(session, outcome)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forecast, "MOST_EXACT_JOBS", 0)
        rough = forecast.estimates(session, outcome)
    for key, estimate in exact.items():
        ahead, found = estimate.starts_at, rough[key].starts_at
        assert ahead is not None
        assert found is not None
        late = (found - session.now) / max(1.0, ahead - session.now)
        assert 0.8 <= late <= 1.25, (estimate, rough[key])
