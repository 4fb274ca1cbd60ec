"""The demo's checks of gangs and order, from recorded watch events."""

import pytest

from devcluster.demo.choices import choices
from devcluster.demo.history import PartialGang, Recorded, partial_gangs
from shared import labels
from shared.model import Delete, Entity, Node, NodeName, Pod, PodShape, Replace, Uid, Upsert

BURST_SECONDS = 10.0
GANG = "team/gang"


def pod(
    index: int,
    node: str = "",
    *,
    phase: str = "Pending",
    job: str = "gang",
    cpu: int = 100,
    made: int = 0,
    gated: bool = False,
) -> Pod:
    return Pod(
        namespace="team",
        name=f"{job}-{index}-{made}",
        uid=Uid(f"{job}-{index}-{made}"),
        resource_version="1",
        created_at=0.0,
        shape=PodShape(requests=(("cpu", cpu), ("pods", 1))),
        labels={labels.JOB_NAME_LABEL: job, labels.JOB_INDEX_LABEL: str(index)},
        node_name=NodeName(node) if node else None,
        gates=(labels.GATE,) if gated else (),
        phase=phase,
    )


def up(at: float, entity: Entity) -> Recorded:
    return Recorded(at, Upsert(entity))


def gone(at: float, entity: Pod) -> Recorded:
    return Recorded(at, Delete("Pod", entity.key, entity.uid))


def bound(at: float, *indices: int) -> list[Recorded]:
    return [up(at, pod(i, "n1")) for i in indices]


MADE = [up(0.0, pod(i)) for i in range(3)]
PARTIAL_CASES: dict[str, tuple[list[Recorded], list[tuple[float, float, int]]]] = {
    "nothing was seen": ([], []),
    "a gang that waits": (MADE, []),
    "bound at one moment": ([*MADE, *bound(1, 0, 1, 2)], []),
    "bound within the burst": ([*MADE, *bound(1, 0), *bound(11, 1, 2)], []),
    "the last one later than the burst": (
        [*MADE, *bound(1, 0, 1), *bound(11.5, 2)],
        [(1, 10.5, 2)],
    ),
    "never completed, until the watch ended": ([*MADE, *bound(1, 0)], [(1, 99, 1)]),
    "dissolved within the burst": (
        [*MADE, *bound(1, 0, 1), gone(5, pod(0)), gone(6, pod(1))],
        [],
    ),
    "dissolved too late": ([*MADE, *bound(1, 0), gone(20, pod(0))], [(1, 19, 1)]),
    "finished members count as bound": (
        [
            *MADE,
            *bound(1, 0, 1, 2),
            up(20, pod(0, "n1", phase="Succeeded")),
            gone(21, pod(0)),
            up(50, pod(1, "n1", phase="Succeeded")),
        ],
        [],
    ),
    "a member that finished before the others were bound does not excuse them": (
        [*MADE, *bound(1, 0), up(2, pod(0, "n1", phase="Succeeded"))],
        [(1, 99, 1)],
    ),
    "a failed member is made anew in time": (
        [
            *MADE,
            *bound(1, 0, 1, 2),
            up(30, pod(2, "n1", phase="Failed")),
            up(31, pod(2, made=1)),
            up(35, pod(2, "n1", made=1)),
        ],
        [],
    ),
    "a failed member is missing for long": (
        [*MADE, *bound(1, 0, 1, 2), up(30, pod(2, "n1", phase="Failed"))],
        [(30, 70, 2)],
    ),
    "the same member twice is one": (
        [*MADE, *bound(1, 0, 1), up(2, pod(1, "n1", made=1))],
        [(1, 99, 2)],
    ),
    "two stretches": (
        [
            *MADE,
            *bound(1, 0),
            *bound(20, 1, 2),
            gone(40, pod(0)),
            up(60, pod(0, "n2", made=1)),
        ],
        [(1, 19, 2), (40, 20, 2)],
    ),
    "a relist shows that members have gone": (
        [
            *MADE,
            *bound(1, 0, 1, 2),
            Recorded(30, Replace("Pod", "Pod", (pod(0, "n1"),))),
        ],
        [(30, 70, 1)],
    ),
    "a relist of nodes takes no pod away": (
        [*MADE, *bound(1, 0, 1, 2), Recorded(30, Replace("Node", "Node", ()))],
        [],
    ),
    "a pod of an older uid was deleted": (
        [*MADE, *bound(1, 0, 1, 2), Recorded(30, Delete("Pod", pod(0).key, "older"))],
        [],
    ),
}


@pytest.mark.parametrize(("history", "want"), PARTIAL_CASES.values(), ids=PARTIAL_CASES)
def test_a_gang_is_partial_if_it_is_half_bound_for_longer_than_a_burst(
    history: list[Recorded], want: list[tuple[float, float, int]]
) -> None:
    found = partial_gangs(history, {GANG: 3}, bind_burst_seconds=BURST_SECONDS, until=100.0)
    assert list(found) == [PartialGang(GANG, since, long, n, 3) for since, long, n in want]


def test_jobs_without_a_choice_are_not_checked() -> None:
    assert partial_gangs(bound(1, 0), {}, bind_burst_seconds=BURST_SECONDS, until=100.0) == ()


def node(name: str, cpu: int) -> Recorded:
    allocatable = {"cpu": cpu, "pods": 110}
    return up(0, Node(name=NodeName(name), uid=Uid(name), allocatable=allocatable))


def gated(job: str, size: int, cpu: int = 100) -> list[Recorded]:
    return [up(0, pod(i, job=job, cpu=cpu, gated=True)) for i in range(size)]


def goes(at: float, job: str, size: int, on: str, cpu: int = 100) -> list[Recorded]:
    free = [up(at, pod(i, job=job, cpu=cpu)) for i in range(size)]
    return free + [up(at + 1, pod(i, on, job=job, cpu=cpu)) for i in range(size)]


SIZES = {"team/big": 4, "team/small": 1}
BOTH = [node("n1", 400), *gated("big", 4), *gated("small", 1)]
BIG_FIRST = {"team/big": 9.0, "team/small": 1.0}
Judged = list[tuple[str, float | None, tuple[str, ...], tuple[str, ...]]]
CHOICE_CASES: dict[str, tuple[list[Recorded], dict[str, dict[str, float]], Judged]] = {
    "the larger V went first where only one fits": (
        [*BOTH, *goes(5, "big", 4, "n1")],
        {"team/big": BIG_FIRST},
        [("team/big", 9.0, ("team/small",), ())],
    ),
    "the smaller V went first although the other would have fitted": (
        [*BOTH, *goes(5, "small", 1, "n1")],
        {"team/small": BIG_FIRST},
        [("team/small", 1.0, (), ("team/big",))],
    ),
    "the smaller V went first and left room enough for the other": (
        [node("n2", 100), *BOTH, *goes(5, "small", 1, "n2")],
        {"team/small": BIG_FIRST},
        [("team/small", 1.0, (), ())],
    ),
    "the smaller V went first because the other did not fit": (
        [node("n1", 300), *BOTH[1:], *goes(5, "small", 1, "n1")],
        {"team/small": BIG_FIRST},
        [("team/small", 1.0, (), ())],
    ),
    "room for both forces no choice": (
        [node("n2", 400), *BOTH, *goes(5, "big", 4, "n2")],
        {"team/big": BIG_FIRST},
        [("team/big", 9.0, (), ())],
    ),
    "a gang that is not complete yet does not stand in line": (
        [*BOTH[:4], *gated("small", 1), *goes(5, "small", 1, "n1")],
        {"team/small": BIG_FIRST},
        [("team/small", 1.0, (), ())],
    ),
    "no V was reported": (
        [*BOTH, *goes(5, "small", 1, "n1")],
        {},
        [("team/small", None, (), ())],
    ),
    "released together, the larger V counts as first": (
        [
            node("n1", 500),
            *BOTH[1:],
            *goes(5, "big", 4, "n1"),
            *goes(5, "small", 1, "n1"),
        ],
        {"team/big": BIG_FIRST, "team/small": BIG_FIRST},
        [("team/big", 9.0, (), ()), ("team/small", 1.0, (), ())],
    ),
    "reservations of a released gang are taken before its pods are bound": (
        [
            node("n1", 500),
            *BOTH[1:],
            *gated("late", 2),
            *goes(5, "big", 4, "n1")[:4],
            *goes(5, "small", 1, "n1"),
            *goes(5, "big", 4, "n1")[4:],
        ],
        {
            "team/big": {**BIG_FIRST, "team/late": 5.0},
            "team/small": {"team/small": 1.0, "team/late": 5.0},
        },
        [("team/big", 9.0, ("team/late",), ()), ("team/small", 1.0, (), ())],
    ),
}


@pytest.mark.parametrize(("history", "values", "want"), CHOICE_CASES.values(), ids=CHOICE_CASES)
def test_a_choice_is_checked_against_the_jobs_that_would_have_fitted(
    history: list[Recorded], values: dict[str, dict[str, float]], want: Judged
) -> None:
    made = choices(history, {**SIZES, "team/late": 2}, values)
    assert [(c.job, c.v, c.stood_back, c.overtaken) for c in made] == want
