"""Replicas of a Deployment are marked before their number becomes smaller, and not after."""

import pytest
from msgspec.structs import replace

from extender.core.cluster.commands import MarkPod
from extender.core.records.rescale import Cause, Phase
from shared import labels
from shared.model import Owner, OwnerReference, Pod, Uid, WorkerCount
from tests.fakes.builders import make_owner, make_pod
from tests.unit.core.elastic.changing_cluster import (
    ELASTIC,
    NOW,
    TERMINATING,
    acked,
    looked,
    numbers,
    only,
    owner_of,
    propose,
    rescale,
    workers,
    written,
    yard,
)

COST = labels.POD_DELETION_COST
LATE = NOW + 110


def deployment(number: int = 4, *, change=None, notes=TERMINATING) -> tuple[Owner, Owner]:
    """The Deployment, and its ReplicaSet."""
    top = replace(
        owner_of(number, rescale=change, notes=notes),
        kind="Deployment",
        api_version="apps/v1",
        counts=(WorkerCount(count=number, fields=("/spec/replicas",)),),
        suspend_field="",
        job=None,
    )
    reference = OwnerReference("apps/v1", "Deployment", top.name, top.uid)
    made = make_owner("j-5d4f", size=number)
    below = replace(made, kind="ReplicaSet", api_version="apps/v1", controller=reference)
    return top, below


def replicas(below: Owner, number: int = 4, *, bound: int | None = None, **costs: str) -> list[Pod]:
    """Pods of equal age, so that names decide: ``j-0`` leaves first; the last ones are unbound."""
    mark = {labels.JOB: "j", labels.POD_TEMPLATE_HASH: "5d4f"}
    placed = number if bound is None else bound
    return [
        make_pod(
            f"j-{i}",
            owner=below,
            labels=mark,
            annotations={COST: costs[f"p{i}"]} if f"p{i}" in costs else {},
            node="a" if i < placed else None,
            gated=i >= placed,
        )
        for i in range(number)
    ]


def job_of(pods: list[Pod], *owners: Owner) -> str:
    (found,) = yard(*owners, pods).jobs
    return found


def asked(**fields) -> object:
    return rescale(Phase.ASKED, 4, 2, cause=Cause.SLOT, **{"asked": (), **fields})


def snapshot(change=None, seen=None, **costs: str):
    top, below = deployment(change=change)
    return yard(top, below, replicas(below, **costs), seen=seen)


def known(**costs: str):
    """A change to two workers that stands at Asked."""
    top, below = deployment()
    job = job_of(replicas(below), top, below)
    return snapshot(asked(job=job), **costs)


def marked(look) -> dict[str, str]:
    assert all(isinstance(one, MarkPod) for one in look.marks)
    return {one.uid.removeprefix("default-"): one.annotations[COST] for one in look.marks}


def proposal(to: int):
    top, below = deployment()
    return replace(propose(to, Cause.SLOT), job=job_of(replicas(below), top, below))


def test_a_number_is_written_only_after_the_leaving_pods_are_marked() -> None:
    look = looked(snapshot(), proposal(2))
    assert (written(only(look)).phase, numbers(only(look))) == (Phase.ASKED, None)
    assert look.marks == ()


def test_a_change_that_is_asked_for_marks_those_who_leave() -> None:
    look = looked(known())
    assert look.commands == ()
    assert marked(look) == {"j-0": "-1", "j-1": "-1"}


def test_only_what_is_missing_is_written() -> None:
    assert marked(looked(known(p0="-1"))) == {"j-1": "-1"}


def test_the_number_goes_out_when_all_are_marked() -> None:
    look = looked(known(p0="-1", p1="-1"))
    assert (written(only(look)).phase, numbers(only(look))) == (Phase.SHRINKING, 2)
    assert look.marks == ()


def test_marks_of_before_serve_again() -> None:
    look = looked(snapshot(p0="-1", p1="-1"), proposal(2))
    assert (written(only(look)).phase, numbers(only(look))) == (Phase.SHRINKING, 2)


def test_what_cannot_be_marked_keeps_its_workers() -> None:
    look = looked(known(p0="-1"), now=LATE)
    assert (written(only(look)).phase, written(only(look)).why) == (Phase.ABORTED, "NotNominated")
    assert numbers(only(look)) is None


def test_who_has_no_place_needs_no_mark() -> None:
    top, below = deployment()
    look = looked(yard(top, below, replicas(below, bound=2)), proposal(2))
    assert (written(only(look)).phase, numbers(only(look))) == (Phase.SHRINKING, 2)


def test_a_trainer_saves_while_the_marks_are_written_and_both_are_awaited() -> None:
    top, below = deployment(notes=ELASTIC)
    job = job_of(replicas(below), top, below)
    change = asked(job=job, asked=(Uid("default-j-2"),))
    top, below = deployment(change=change, notes=ELASTIC)
    holds = {"j-2": acked()}
    look = looked(yard(top, below, replicas(below), seen=holds))
    assert (look.commands, set(marked(look))) == ((), {"j-0", "j-1"})
    all_marked = replicas(below, p0="-1", p1="-1")
    assert looked(yard(top, below, all_marked)).commands == ()
    assert numbers(only(looked(yard(top, below, all_marked, seen=holds)))) == 2


def test_no_pod_is_marked_for_a_number_that_another_client_changed() -> None:
    top, below = deployment()
    job = job_of(replicas(below), top, below)
    top, below = deployment(5, change=asked(job=job))
    assert looked(yard(top, below, replicas(below))).marks == ()


@pytest.mark.parametrize("costs", [{}, {"p0": "-1", "p1": "-1"}], ids=["unmarked", "marked"])
def test_who_makes_room_beside_a_deployment_waits_for_its_marks(costs: dict[str, str]) -> None:
    top, below = deployment()
    job = job_of(replicas(below), top, below)
    starter = make_pod("s", gated=True)
    (start,) = yard(starter).jobs
    together = {"starts": start, "group": 2, "asked": (), "at": NOW - 10}
    top, below = deployment(change=asked(job=job, **together))
    other = owner_of(4, "k", rescale=rescale(name="k", **together), notes=TERMINATING)
    one = yard(top, below, replicas(below, **costs), other, workers(other), starter)
    found = {c.owner.name: numbers(c) for c in looked(one).commands}
    assert found == ({"j": 2, "k": 3} if costs else {})
