"""Laws of Algorithm 3: every move evens out, and a second rebalance has no move left."""

from hypothesis import given
from hypothesis import strategies as st

from extender.core.migration import rebalance
from extender.core.migration.rebalance import Movable
from extender.core.parameters.migration import RebalanceParameters, RebalanceWhen
from tests.property.moving import after, check_moves, clusters

PARAMS = RebalanceParameters()


def converged(hosts, times):
    return [
        Movable(uid, host, times[i % len(times)]) for i, (uid, host) in enumerate(hosts.items())
    ]


times = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=8)


@given(clusters(), times)
def test_every_move_evens_out_and_fits(cluster, times):
    counts, hosts, fits = cluster
    moves = rebalance.plan(counts, converged(hosts, times), fits, PARAMS)
    check_moves(counts, hosts, fits, moves)


@given(clusters(), times)
def test_a_second_rebalance_on_the_result_plans_nothing(cluster, times):
    counts, hosts, fits = cluster
    containers = converged(hosts, times)
    moves = rebalance.plan(counts, containers, fits, PARAMS)
    left, _ = after(counts, hosts, moves)
    gone = {move.uid for move in moves}
    rest = [c for c in containers if c.uid not in gone]
    assert rebalance.plan(left, rest, fits, PARAMS) == ()


@given(clusters(), times)
def test_a_second_rebalance_plans_nothing_if_moved_ones_may_move_and_all_fit(cluster, times):
    counts, hosts, _ = cluster
    containers = converged(hosts, times)
    moves = rebalance.plan(counts, containers, lambda *_: True, PARAMS)
    left, places = after(counts, hosts, moves)
    again = [Movable(c.uid, places[c.uid], c.converged_at) for c in containers]
    assert rebalance.plan(left, again, lambda *_: True, PARAMS) == ()


@given(clusters(), times)
def test_no_source_falls_below_the_factor_and_no_target_rises_above(cluster, times):
    counts, hosts, fits = cluster
    factor = sum(counts.values()) // len(counts)
    moves = rebalance.plan(counts, converged(hosts, times), fits, PARAMS)
    left, _ = after(counts, hosts, moves)
    assert all(left[move.source] >= factor >= left[move.target] for move in moves)


@given(clusters(), times)
def test_no_container_that_could_help_a_short_host_is_left(cluster, times):
    counts, hosts, fits = cluster
    factor = sum(counts.values()) // len(counts)
    moves = rebalance.plan(counts, converged(hosts, times), fits, PARAMS)
    left, places = after(counts, hosts, moves)
    able = [u for u in hosts.keys() - {m.uid for m in moves} if left[places[u]] > factor]
    short = [h for h, n in left.items() if n < (factor if n == 0 else factor - 1)]
    assert not [(uid, host) for uid in able for host in short if fits(uid, host)]


@given(st.data(), clusters(), times)
def test_the_order_of_hosts_and_containers_does_not_matter(data, cluster, times):
    counts, hosts, fits = cluster
    containers = converged(hosts, times)
    shuffled = dict(data.draw(st.permutations(list(counts.items()))))
    others = data.draw(st.permutations(containers))
    assert rebalance.plan(shuffled, others, fits, PARAMS) == rebalance.plan(
        counts, containers, fits, PARAMS
    )


@given(clusters(), times, st.floats(-1e6, 1e6))
def test_only_differences_of_time_matter(cluster, times, shift):
    counts, hosts, fits = cluster
    shifted = [round(shift) + t for t in times]
    assert rebalance.plan(counts, converged(hosts, shifted), fits, PARAMS) == rebalance.plan(
        counts, converged(hosts, times), fits, PARAMS
    )


@given(clusters(), times)
def test_it_can_be_switched_off(cluster, times):
    counts, hosts, fits = cluster
    never = RebalanceParameters(when=RebalanceWhen.NEVER)
    assert rebalance.plan(counts, converged(hosts, times), fits, never) == ()
