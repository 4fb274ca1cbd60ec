"""Laws of the reservation, on small random rooms."""

from hypothesis import given
from hypothesis import strategies as st

from extender.core.queue import backfill
from shared.model import JobKey
from tests.unit.core.policies.reservations import gang_of, held, pods_on, room_of, tenant

NODES = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 8), min_size=1)
NOW = 50.0


KNOWN_ENDS = st.integers(50, 60).map(float)
ENDS = st.none() | KNOWN_ENDS


@st.composite
def worlds(draw, ends=ENDS):
    """Nodes, and tenants that fit on them together."""
    nodes = draw(NODES)
    free, rows = dict(nodes), []
    for number in range(draw(st.integers(0, 6))):
        node = draw(st.sampled_from(sorted(free)))
        if free[node]:
            taken = draw(st.integers(1, free[node]))
            free[node] -= taken
            rows.append(
                {
                    "job": f"t{number}",
                    "started_at": float(draw(st.integers(0, 49))),
                    "ends_at": draw(ends),
                    "pods": {node: taken},
                    "endless": draw(st.booleans()),
                }
            )
    return nodes, rows


GANGS = st.builds(gang_of, st.integers(1, 4), st.integers(1, 6))


@given(worlds(KNOWN_ENDS), GANGS)
def test_it_starts_at_the_first_end_after_which_it_fits(world, place):
    nodes, rows = world
    _, found = held(nodes, rows, place, NOW)
    moments = sorted({NOW, *(row["ends_at"] for row in rows)})
    fits = [
        at
        for at in moments
        if place(room_of(nodes, [r["pods"] for r in rows if r["ends_at"] > at])) is not None
        or (at == NOW and place(room_of(nodes, [r["pods"] for r in rows])) is not None)
    ]
    assert (found is None) == (not fits)
    assert found is None or found.starts_at == fits[0]


@given(worlds(), GANGS)
def test_only_a_job_that_would_not_fit_on_the_empty_nodes_gets_nothing(world, place):
    nodes, rows = world
    _, found = held(nodes, rows, place, NOW)
    assert (found is None) == (place(room_of(nodes, [])) is None)


@given(worlds(), GANGS, st.randoms(use_true_random=False))
def test_the_order_of_the_tenants_does_not_matter(world, place, order):
    nodes, rows = world
    room, found = held(nodes, rows, place, NOW)
    shuffled = [tenant(room, row) for row in order.sample(rows, len(rows))]
    other = backfill.reserve(JobKey("holder"), room, shuffled, place, NOW)
    assert (found is None) == (other is None)
    if found is not None and other is not None:
        assert (other.starts_at, other.waits_for) == (found.starts_at, found.waits_for)
        assert (other.after.used == found.after.used).all()


@given(worlds(), GANGS, st.integers(1, 4))
def test_backfilled_jobs_still_fit_beside_the_backfill_head(world, place, cpu):
    """On the shadow room, or on other nodes: in both cases, on every node."""
    nodes, rows = world
    room, found = held(nodes, rows, place, NOW)
    if found is None:
        return
    gone = set(found.waits_for)
    stay = [row["pods"] for row in rows if row["job"] not in gone]
    for node in nodes:
        passer = pods_on(room, {node: cpu})
        if not room.feasible(passer[0][0])[passer[0][1]]:
            continue
        then = room_of(nodes, [*stay, {node: cpu}])
        beside = backfill.beside(found, passer, place)
        assert (beside is not None) == (place(then) is not None)
        if backfill.open_nodes(found, room).feasible(passer[0][0])[passer[0][1]]:
            assert beside is not None
            kept = backfill.with_pods(found, passer)
            assert (kept.after.free >= 0).all()
            assert (kept.before.used == then.used).all()


@given(worlds(), GANGS, st.integers(1, 100))
def test_a_job_gone_in_time_ends_no_later_than_the_backfill_head_starts(world, place, lasts):
    nodes, rows = world
    _, found = held(nodes, rows, place, NOW)
    if found is not None:
        start = found.starts_at
        in_time = start is not None and NOW + lasts <= start
        assert backfill.gone_in_time(found, NOW, float(lasts)) == in_time
        assert not backfill.gone_in_time(found, NOW, None)
