"""Laws of count balancing: every move evens out, and a second plan has no move left."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from extender.core.migration import count_balance
from extender.core.migration.count_balance import Resident
from extender.core.parameters.migration import CountParameters
from tests.property.moving import after, check_moves, clusters

NOW = 1000.0
params = st.builds(
    CountParameters,
    difference=st.integers(2, 5),
    most_moves=st.integers(1, 3),
    pause_seconds=st.sampled_from([1.0, 60.0]),
)
lives = st.lists(
    st.tuples(st.sampled_from([0.0, 900.0, 970.0, NOW]), st.integers(0, 3)), min_size=1, max_size=8
)


def settled(hosts, lives):
    return [
        Resident(uid, host, *lives[i % len(lives)]) for i, (uid, host) in enumerate(hosts.items())
    ]


@given(clusters(), lives, params)
def test_every_move_evens_out_and_fits(cluster, lives, params):
    counts, hosts, fits = cluster
    moves = count_balance.plan(counts, settled(hosts, lives), fits, params, now=NOW)
    check_moves(counts, hosts, fits, moves)


@given(clusters(), lives, params)
def test_a_second_plan_on_the_result_plans_nothing(cluster, lives, params):
    counts, hosts, fits = cluster
    containers = settled(hosts, lives)
    moves = count_balance.plan(counts, containers, fits, params, now=NOW)
    left, places = after(counts, hosts, moves)
    gone = {move.uid for move in moves}
    again = [
        replace(c, host=places[c.uid], since=NOW, moves=c.moves + 1) if c.uid in gone else c
        for c in containers
    ]
    assert count_balance.plan(left, again, fits, params, now=NOW) == ()


@given(clusters(), lives, params)
def test_no_container_is_moved_too_often_or_too_soon(cluster, lives, params):
    counts, hosts, fits = cluster
    containers = {c.uid: c for c in settled(hosts, lives)}
    for move in count_balance.plan(counts, list(containers.values()), fits, params, now=NOW):
        moved = containers[move.uid]
        assert moved.moves < params.most_moves
        assert moved.moves == 0 or NOW - moved.since >= params.pause_seconds


@given(clusters(), lives, params)
def test_no_container_that_could_even_out_is_left(cluster, lives, params):
    counts, hosts, fits = cluster
    containers = settled(hosts, lives)
    moves = count_balance.plan(counts, containers, fits, params, now=NOW)
    left, places = after(counts, hosts, moves)
    gone = {move.uid for move in moves}
    able = [
        c.uid
        for c in containers
        if c.uid not in gone
        and c.moves < params.most_moves
        and (c.moves == 0 or NOW - c.since >= params.pause_seconds)
    ]
    assert not [
        (uid, host)
        for uid in able
        for host in left
        if left[places[uid]] - left[host] >= params.difference and fits(uid, host)
    ]


@given(clusters())
def test_where_all_may_move_and_fit_no_two_hosts_are_further_apart_than_one(cluster):
    counts, _, _ = cluster
    residents = [Resident(f"{host}-{i}", host, 0.0) for host, n in counts.items() for i in range(n)]
    moves = count_balance.plan(counts, residents, lambda *_: True, CountParameters(), now=NOW)
    left, _ = after(counts, {c.uid: c.host for c in residents}, moves)
    assert max(left.values()) - min(left.values()) <= 1


@given(st.data(), clusters(), lives, params)
def test_the_order_of_hosts_and_containers_does_not_matter(data, cluster, lives, params):
    counts, hosts, fits = cluster
    containers = settled(hosts, lives)
    shuffled = dict(data.draw(st.permutations(list(counts.items()))))
    others = data.draw(st.permutations(containers))
    assert count_balance.plan(shuffled, others, fits, params, now=NOW) == count_balance.plan(
        counts, containers, fits, params, now=NOW
    )
