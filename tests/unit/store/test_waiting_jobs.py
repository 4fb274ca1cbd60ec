from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.store import waiting_jobs
from extender.store.waiting_jobs import WaitingJobs
from shared.model import JobKey, Pod, PodShape, Uid

PUTS = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.none() | st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 1), st.integers(0, 5)),
    ),
    max_size=200,
)
Put = tuple[int, tuple[str, int, int] | None]
"""Which job, and namespace, priority and age of its oldest pod; None: it waits no more."""


def oldest(namespace: str, priority: int, created_at: int) -> Pod:
    return Pod(
        namespace=namespace,
        name="p",
        uid=Uid("u"),
        resource_version="1",
        created_at=created_at,
        priority=priority,
        shape=PodShape(),
    )


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_jobs, "MOST_IN_BLOCK", 4)


@given(PUTS)
def test_jobs_are_in_order_of_age_in_small_blocks(puts: list[Put]) -> None:
    jobs, right = WaitingJobs(), dict[JobKey, tuple[str, int, int]]()
    for number, group in puts:
        key = JobKey(f"job-{number:02}")
        before = jobs.rows()
        shown = {where: tuple(blocks) for where, blocks in before.items()}
        jobs.put(key, None if group is None else oldest(*group))
        assert {where: tuple(blocks) for where, blocks in before.items()} == shown
        right.pop(key, None)
        if group is not None:
            right[key] = group
    kept = {where: list(chain.from_iterable(blocks)) for where, blocks in jobs.rows().items()}
    assert all(0 < len(block) <= 4 for blocks in jobs.rows().values() for block in blocks)
    assert kept == {
        where: sorted(
            (float(age), k) for k, (*group, age) in right.items() if tuple(group) == where
        )
        for where in {(namespace, priority) for namespace, priority, _ in right.values()}
    }
