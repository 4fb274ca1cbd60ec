"""The gang of an elastic job: its least workers and all the others."""

import pytest
from msgspec.structs import replace

from extender.core.cluster import job_views
from extender.core.cluster.job_spec import WorkerRange
from shared import labels
from shared.model import JobKey, WorkerCount
from tests.fakes.builders import make_owner, make_pod
from tests.unit.core.clusters import snapshot_of

COUNT = WorkerCount(count=4, fields=("/spec/parallelism", "/spec/completions"))


def owner_of(name="j", count=COUNT, *, size=None, notes=None, **more):
    owner = make_owner(
        name,
        size=(count.count if count else 1) if size is None else size,
        annotations=notes or {},
        **more,
    )
    return replace(owner, counts=() if count is None else (count,))


def pods_of(owner, number, *, role="", job="", first=0, **more):
    return [
        make_pod(
            f"{owner.name}-{role}{i}", owner=owner, index=i, role=role, job=job, gated=True, **more
        )
        for i in range(first, first + number)
    ]


def elastic(text="2..6", **more):
    return {
        labels.WORKERS: text,
        **{f"shuntyard.io/{k.replace('_', '-')}": v for k, v in more.items()},
    }


def one_owner(count=4, text="2..6", **more):
    owner = owner_of(count=replace(COUNT, count=count), notes=elastic(text, **more))
    return [owner, *pods_of(owner, count)]


def with_servers(*, size, count=4):
    """One owner of two roles, as an operator's."""
    owner = owner_of(count=WorkerCount(role="worker", count=count, fields=("/w",)), size=size)
    owner = replace(owner, annotations=elastic())
    return [owner, *pods_of(owner, 1, role="ps"), *pods_of(owner, count, role="worker")]


def two_owners(**notes):
    """A Job of servers and one of workers that has the group's name."""
    servers = owner_of("s", None, notes=notes)
    workers = owner_of("j", notes={**elastic(), **notes})
    server = pods_of(servers, 1, role="ps", job="j", annotations=elastic())
    return [servers, workers, *server, *pods_of(workers, 4, role="worker", job="j")]


def elsewhere(**more):
    owner = owner_of(count=replace(COUNT, count=4, **more))
    return [owner, *pods_of(owner, 4)]


JOB, GROUP = "default/job/j", "default/group/j"
GANGS = {
    "no range: all": (elsewhere(), JOB, 4),
    "its least": (one_owner(), JOB, 2),
    "its least, however many there are now": (one_owner(count=6), JOB, 2),
    "what the user states": (one_owner(min_available="3"), JOB, 3),
    "servers too": (with_servers(size=5), JOB, 3),
    "a chosen size that does not follow the workers": (with_servers(size=3), JOB, 3),
    "members of other owners that are there": (two_owners(), GROUP, 3),
    "of several owners, as stated": (
        two_owners(**{labels.MIN_AVAILABLE: "4"}),
        GROUP,
        4,
    ),
    "the owner's own range": (elsewhere(least=3, most=8, elastic=True), JOB, 3),
    "an owner's limit without the user's word": (elsewhere(least=3, most=8), JOB, 4),
}


@pytest.mark.parametrize(("entities", "key", "size"), GANGS.values(), ids=GANGS.keys())
def test_gang_size(entities, key, size) -> None:
    job = job_views.view(snapshot_of(*entities), JobKey(key))
    assert (job.min_available, job.problem) == (size, None)


PROBLEMS = {
    "fewer than its least": (one_owner(count=1), "the present number of workers, 1"),
    "more than its most": (one_owner(count=7), "spec.parallelism and spec.completions"),
    "no range": (one_owner(text="6..2"), "min..max"),
}


@pytest.mark.parametrize(("entities", "part"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_a_number_outside_of_the_range_is_a_problem_that_names_the_field(entities, part) -> None:
    job = job_views.view(snapshot_of(*entities), JobKey(JOB))
    assert job.problem is not None
    assert part in job.problem.message
    assert f"annotation {labels.WORKERS}" in job.problem.message


def misstated(count=4):
    """A job whose elastic owner has a maximum wait that cannot be used."""
    range_of_owner = replace(COUNT, count=count, least=3, most=8, elastic=True)
    owner = owner_of(count=range_of_owner, notes={labels.MAX_WAIT: "soon"})
    return [owner, *pods_of(owner, count)]


def test_the_specification_s_problem_is_kept_where_the_owner_is_elastic() -> None:
    job = job_views.view(snapshot_of(*misstated()), JobKey(JOB))
    assert job.problem is not None
    assert job.problem.field == f"annotation {labels.MAX_WAIT}"
    assert job.spec.problems == (job.problem,)
    assert job.spec.workers == WorkerRange(3, 8)


def test_a_problem_of_the_workers_comes_after_that_of_the_specification() -> None:
    job = job_views.view(snapshot_of(*misstated(count=9)), JobKey(JOB))
    fields = [problem.field for problem in job.spec.problems]
    assert fields == [f"annotation {labels.MAX_WAIT}", f"annotation {labels.WORKERS}"]
    assert job.problem == job.spec.problems[0]


def test_a_paused_job_is_no_mistake() -> None:
    owner = owner_of(count=replace(COUNT, count=0), notes=elastic())
    leaving = [replace(pod, deleting=True) for pod in pods_of(owner, 2)]
    assert job_views.view(snapshot_of(owner, *leaving), JobKey(JOB)).problem is None


RANGES = {
    "the user's": (one_owner(), WorkerRange(2, 6)),
    "the owner's": (elsewhere(least=3, most=8, elastic=True), WorkerRange(3, 8)),
    "the owner's, up to what it has": (elsewhere(elastic=True), WorkerRange(1, 4)),
    "neither's": (elsewhere(least=3, most=8), None),
    "the user's within the owner's": (
        [
            (owner := owner_of(count=replace(COUNT, least=3, most=5), notes=elastic())),
            *pods_of(owner, 4),
        ],
        WorkerRange(3, 5),
    ),
}


@pytest.mark.parametrize(("entities", "wanted"), RANGES.values(), ids=RANGES.keys())
def test_the_range_of_workers(entities, wanted) -> None:
    assert job_views.view(snapshot_of(*entities), JobKey(JOB)).spec.workers == wanted
