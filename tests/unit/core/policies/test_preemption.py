"""The set of jobs that leaves for a start: the cheapest that suffices, and none in vain."""

from collections.abc import Sequence

import pytest

from extender.core.parameters.preemption import PreemptionParameters
from extender.core.preemption.victims import Candidate, chosen
from shared.model import JobKey

EXACT = PreemptionParameters(exact_candidates=8)


def candidate(name: str, pods: int, pause: float, left: float | None = None) -> Candidate:
    return Candidate(JobKey(f"default/job/{name}"), pods, pause, left)


def names(found: Sequence[Candidate]) -> str:
    return "".join(one.job.rpartition("/")[2] for one in found)


CASES: dict[str, tuple[list[Candidate], int, str]] = {
    "the cheaper of two that suffice leaves": (
        [candidate("a", 2, 60.0), candidate("b", 2, 30.0)], 2, "b",
    ),
    "one that is dearer leaves rather than two that cost more together": (
        [candidate("a", 2, 50.0), candidate("b", 2, 40.0), candidate("c", 4, 40.0)], 4, "c",
    ),
    "no job leaves if all of them do not suffice": ([candidate("a", 2, 60.0)], 3, ""),
    "a job that ends before it would have saved stays": (
        [candidate("a", 2, 60.0, 10.0)], 2, "",
    ),
    "a job that runs on for long leaves": ([candidate("a", 2, 60.0, 600.0)], 2, "a"),
}  # fmt: skip


@pytest.mark.parametrize(("candidates", "needed", "expected"), CASES.values(), ids=CASES)
def test_the_set_is(candidates: list[Candidate], needed: int, expected: str) -> None:
    found = chosen(candidates, needed, lambda left: sum(c.pods for c in left) >= needed, EXACT)
    assert names(found) == expected
