"""Which proposals begin together, and how many."""

import pytest

from extender.core.records.rescale import Cause, Phase
from shared import labels
from shared.progress import Checkpoint
from tests.fakes.builders import make_pod
from tests.unit.core.elastic.changing_cluster import (
    ELASTIC,
    TERMINATING,
    crew,
    looked,
    numbers,
    owner_of,
    propose,
    rescale,
    tuned,
    why,
    workers,
    written,
    yard,
)


def several(*names: str, notes=None, **owner):
    """Jobs of four workers, and the job ``s`` that waits."""
    entities, seen = [make_pod("s", job="s", gated=True)], {}
    for name in names:
        annotations = (notes or {}).get(name, ELASTIC)
        made = owner_of(4, name, notes=annotations, **owner)
        entities += [made, *workers(made)]
        seen[f"{name}-0"] = Checkpoint()
    return yard(entities, seen=seen)


def begun(look):
    return {c.owner.name: (written(c).phase, numbers(c)) for c in look.commands}


def for_s(*jobs: str):
    return [propose(3, Cause.MORE_IMPORTANT, job, "s") for job in jobs]


def test_one_who_makes_room_alone_need_not_wait() -> None:
    snapshot = several("j", notes={"j": TERMINATING})
    assert begun(looked(snapshot, *for_s("j"))) == {"j": (Phase.SHRINKING, 3)}


def test_those_who_make_room_together_are_all_asked_first() -> None:
    look = looked(several("j", "k", notes={"j": TERMINATING}), *for_s("j", "k"))
    assert begun(look) == {"j": (Phase.ASKED, None), "k": (Phase.ASKED, None)}
    assert {written(c).group for c in look.commands} == {2}
    assert [written(c).asked for c in look.commands] == [(), ("default-k-0",)]


def test_one_who_cannot_keeps_the_others_as_they_are() -> None:
    snapshot = several("j", "k", notes={"j": {labels.WORKERS: "2..6"}})
    look = looked(snapshot, *for_s("j", "k"))
    assert look.commands == ()
    assert why(look) == {"j": "NotOptedIn", "k": "OthersStay"}


def test_one_who_has_little_enough_is_not_counted() -> None:
    snapshot = several("j", "k", notes={"j": TERMINATING, "k": TERMINATING})
    proposals = [*for_s("j"), propose(4, Cause.MORE_IMPORTANT, "k", "s")]
    assert begun(looked(snapshot, *proposals)) == {"j": (Phase.SHRINKING, 3)}


def test_others_do_not_wait_for_them() -> None:
    look = looked(several("j", "k", "m"), *for_s("j"), propose(3, job="k"), propose(5, job="m"))
    assert {name: phase for name, (phase, _) in begun(look).items()} == {
        "j": Phase.ASKED,
        "k": Phase.ASKED,
        "m": Phase.GROWING,
    }


def test_a_job_changes_one_at_a_time() -> None:
    twice = looked(several("j"), propose(3), propose(5))
    assert [written(c).to for c in twice.commands] == [3]
    again = looked(crew(rescale=rescale()), propose(2))
    assert (again.commands, why(again)) == ((), {})


def test_who_is_on_the_way_keeps_the_others_of_a_start_waiting() -> None:
    made = owner_of(4, "k")
    busy = owner_of(4, rescale=rescale())
    snapshot = yard(busy, workers(busy), made, workers(made), make_pod("s", job="s", gated=True))
    assert looked(snapshot, *for_s("j", "k")).commands == ()


def test_so_many_at_a_time() -> None:
    look = looked(
        several("j", "k", "m"), *(propose(5, job=n) for n in "jkm"), params=tuned(most_open=2)
    )
    assert begun(look).keys() == {"j", "k"}
    assert why(look) == {"m": "TooManyOpen"}


def test_those_who_belong_together_are_not_parted_by_that() -> None:
    look = looked(several("j", "k"), *for_s("j", "k"), params=tuned(most_open=1))
    assert look.commands == ()
    assert why(look) == {"j": "TooManyOpen", "k": "TooManyOpen"}


def test_a_plan_s_changes_come_on_top() -> None:
    slots = [propose(5, Cause.SLOT, name) for name in "jk"]
    look = looked(several("j", "k", "m"), *slots, propose(5, job="m"), params=tuned(most_open=1))
    assert begun(look).keys() == {"j", "k", "m"}


@pytest.mark.parametrize(("cause", "left"), [(Cause.SLOT, 1), (Cause.SLOWS, 0)])
def test_what_is_open_counts(cause: Cause, left: int) -> None:
    busy, made = owner_of(4, rescale=rescale(cause=cause)), owner_of(4, "k")
    snapshot = yard(busy, workers(busy), made, workers(made))
    look = looked(snapshot, propose(5, job="k"), params=tuned(most_open=1))
    assert len([c for c in look.commands if c.owner.name == "k"]) == left


def test_between_passes_nothing_begins_and_earlier_reasons_stay() -> None:
    first = looked(crew(notes={}), propose(2))
    between = looked(crew(), propose(2), due=False, memory=first.state)
    assert between.commands == ()
    assert why(between) == {"j": "NotElastic"}


def test_a_range_without_a_known_owner_is_reported() -> None:
    alone = make_pod("alone", job="x", node="a", annotations={labels.WORKERS: "1..4"})
    look = looked(yard(alone))
    (declined,) = look.state.declined.values()
    assert (declined.job, declined.reason) == ("default/group/x", "OwnerNotSupported")


def test_a_range_that_its_owner_keeps_is_not_reported() -> None:
    assert looked(several("j")).state.declined == {}
