"""State after a plan of moves, for the laws of both balancing rules."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from hypothesis import strategies as st

HOSTS = ("n0", "n1", "n2", "n3", "n4")


@st.composite
def clusters(draw):
    """Counts by host, the uids that may move with their hosts, and what fits where."""
    hosts = HOSTS[: draw(st.integers(1, len(HOSTS)))]
    counts = {host: draw(st.integers(0, 9)) for host in hosts}
    places = [host for host, n in counts.items() for _ in range(n)]
    chosen = [host for host in places if draw(st.booleans())]
    uids = [f"c{i}" for i in range(len(chosen))]
    closed = draw(st.sets(st.sampled_from(hosts), max_size=2))
    unfit = draw(st.sets(st.tuples(st.sampled_from(uids or [""]), st.sampled_from(hosts))))
    fits = lambda uid, host: host not in closed and (uid, host) not in unfit  # noqa: E731 - shown by hypothesis
    return counts, dict(zip(uids, chosen, strict=True)), fits


def steps(counts: dict[str, int], moves: Sequence) -> Iterator[dict[str, int]]:
    """The counts before the first move and after each."""
    left = dict(counts)
    yield dict(left)
    for move in moves:
        left[move.source] -= 1
        left[move.target] += 1
        yield dict(left)


def imbalance(counts: dict[str, int]) -> tuple[int, int]:
    """Fullest less emptiest, and the sum of squares, which sees the hosts between as well."""
    return max(counts.values()) - min(counts.values()), sum(n * n for n in counts.values())


def check_moves(counts: dict[str, int], hosts: dict[str, str], fits, moves: Sequence) -> None:
    """Each container moves at most once, from its host to one where it fits, and evens out."""
    assert len({move.uid for move in moves}) == len(moves)
    for move in moves:
        assert hosts[move.uid] == move.source != move.target
        assert fits(move.uid, move.target)
    seen = list(steps(counts, moves))
    assert all(n >= 0 for n in seen[-1].values())
    for before, after in pairwise(seen):
        assert imbalance(after)[0] <= imbalance(before)[0]
        assert imbalance(after)[1] < imbalance(before)[1]


def after(counts: dict[str, int], hosts: dict[str, str], moves: Sequence):
    """Return counts and hosts after the moves."""
    *_, left = steps(counts, moves)
    return left, hosts | {move.uid: move.target for move in moves}
