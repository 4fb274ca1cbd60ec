"""Laws of the set of jobs that leaves for a start, against all sets."""

from collections.abc import Sequence
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from extender.core.parameters.preemption import PreemptionParameters
from extender.core.preemption import victims
from extender.core.preemption.victims import Candidate, chosen
from shared.model import JobKey

EXACT = PreemptionParameters(exact_candidates=8)
BOUNDED = PreemptionParameters(exact_candidates=0)


def candidate(name: str, pods: int, pause: float, left: float | None = None) -> Candidate:
    return Candidate(JobKey(f"default/job/{name}"), pods, pause, left)


some = st.lists(
    st.tuples(st.integers(1, 5), st.integers(1, 100), st.one_of(st.none(), st.integers(0, 300))),
    max_size=6,
).map(
    lambda rows: [
        candidate(chr(97 + i), pods, pause, left) for i, (pods, pause, left) in enumerate(rows)
    ]
)


@given(some, st.integers(1, 12))
def test_no_set_that_makes_room_and_is_worth_it_costs_less(
    candidates: list[Candidate], needed: int
) -> None:
    def fits(left: Sequence[Candidate]) -> bool:
        return sum(one.pods for one in left) >= needed

    every = [c for size in range(1, len(candidates) + 1) for c in combinations(candidates, size)]
    good = [found for found in every if fits(found) and victims.is_worth_it(found, needed)]
    found = chosen(candidates, needed, fits, EXACT)
    assert bool(found) == bool(good)
    if found:
        assert found in {tuple(sorted(one, key=lambda c: c.job)) for one in good}
        assert victims.total(found) == min(victims.total(one) for one in good)


@given(some, st.integers(1, 12))
def test_a_bounded_search_finds_a_set_that_suffices_and_none_of_it_is_needless(
    candidates: list[Candidate], needed: int
) -> None:
    def fits(left: Sequence[Candidate]) -> bool:
        return sum(one.pods for one in left) >= needed

    found = chosen(candidates, needed, fits, BOUNDED)
    if found:
        assert fits(found)
        assert all(not fits([c for c in found if c is not one]) for one in found)
        assert victims.is_worth_it(found, needed)
    elif fits(candidates):
        assert any(one.left_seconds is not None for one in candidates)


@given(some, st.integers(1, 12), st.sets(st.frozensets(st.sampled_from("abcdef"), min_size=1)))
def test_no_set_is_chosen_that_is_not_permitted(
    candidates: list[Candidate], needed: int, forbidden: set[frozenset[str]]
) -> None:
    """Whatever contains a forbidden set is forbidden, as for a budget."""

    def fits(left: Sequence[Candidate]) -> bool:
        return sum(one.pods for one in left) >= needed

    def permits(left: Sequence[Candidate]) -> bool:
        names = {one.job.rpartition("/")[2] for one in left}
        return not any(one <= names for one in forbidden)

    every = [c for size in range(1, len(candidates) + 1) for c in combinations(candidates, size)]
    good = [
        victims.total(one)
        for one in every
        if fits(one) and permits(one) and victims.is_worth_it(one, needed)
    ]
    exact = chosen(candidates, needed, fits, EXACT, permits)
    assert bool(exact) == bool(good)
    if exact:
        assert permits(exact)
        assert victims.total(exact) == min(good)
    bounded = chosen(candidates, needed, fits, BOUNDED, permits)
    assert not bounded or (permits(bounded) and fits(bounded))
