"""Proposals of DRS on the live snapshot."""

import dataclasses

import pytest
from msgspec.structs import replace

from extender.core.cluster.session import Reading, Session
from extender.core.elastic import proposals
from extender.core.elastic.measured_speeds import Sample, Samples, SpeedMemory
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.elastic import ScalingParameters
from extender.core.parameters.pricing import SlotTimeParameters
from extender.core.parameters.queue import FairShareParameters
from extender.core.records.rescale import Cause, Phase, Proposal
from shared import labels
from shared.model import JobKey, WorkerCount
from tests.fakes.builders import (
    make_namespace,
    make_node,
    make_owner,
    make_pod,
    make_shape,
    pinned_to,
)
from tests.fakes.reports import make_pod_report, make_report
from tests.unit.core.clusters import queued_job, store_of
from tests.unit.core.elastic.elastic_cluster import changing, key_of, more_workers, running, waiting

NOW = 1000.0
HIGH = {"pod": {"priority": 10}}
PATIENT = CoreParameters(scaling=ScalingParameters(starvation_seconds=None))
ABORTED = {"phase": Phase.ABORTED, "since": NOW - 5.0, "aborted": 1}


def proposed(*entities, nodes=None, params=PATIENT, speeds=None, now=NOW, reports=()):
    store = store_of(nodes or [make_node("a", cpu="4")], *entities)
    for report in reports:
        store.report(report)
    snapshot = store.snapshot()
    session = Session(snapshot, Reading(now, now), params)
    return proposals.drs_proposals(session, speeds or SpeedMemory())


def shrinks(name, to, starts, cause=Cause.MORE_IMPORTANT):
    return Proposal(key_of(name), to, cause, starts=key_of(starts))


def grows(name, to, cause=Cause.ROOM_LEFT):
    return Proposal(key_of(name), to, cause)


def victim(name="v", workers="1..4", nodes=("a",) * 4, **more):
    return running(name, nodes, workers=workers, **more)


def with_notes(entities, **notes):
    owner, *pods = entities
    annotations = {**owner.annotations, **{f"shuntyard.io/{k}": v for k, v in notes.items()}}
    return [replace(owner, annotations=annotations), *pods]


def asking(entities):
    """The same job, of which workers leave after a checkpoint alone."""
    return with_notes(entities, shrink="checkpoint")


def moved(entities, **changes):
    owner, *pods = entities
    return [owner, *(replace(pod, **changes) for pod in pods)]


STARTER = waiting("s", 2, at=900.0, **HIGH)
STARTS = {
    "a more important job takes what it needs": ([victim(), STARTER], [shrinks("v", 2, "s")]),
    "in turns, from several": (
        [victim("v", nodes="aa"), victim("w", nodes="aa"), STARTER],
        [shrinks("w", 1, "s"), shrinks("v", 1, "s")],
    ),
    "no job below its least": ([victim(workers="3..4"), STARTER], []),
    "all it needs, or nothing": ([victim(), waiting("s", 4, **HIGH)], []),
    "the fewest workers with which it starts": (
        [victim(), waiting("s", 4, workers="2..4", **HIGH)],
        [shrinks("v", 2, "s")],
    ),
    "a job that is no more important waits": ([victim(), waiting("s", 2, at=900.0)], []),
    "another running job is as important": (
        [victim(nodes="aaa"), running("f", "a", **HIGH), STARTER],
        [],
    ),
    "no job has a range": ([running("v", "aaaa"), STARTER], []),
    "it would fit: the queue's business": ([victim(nodes="aa"), STARTER], []),
    "it makes room for another already": (
        [changing(victim(), 3, starts=key_of("t")), STARTER],
        [],
    ),
    "another change of it is open": ([changing(victim(), 3), STARTER], []),
    "it could not lately": ([changing(victim(), 3, **ABORTED), STARTER], []),
    "it has a slot plan": (
        [with_notes(victim(), **{"slot-plan": "{}"}), STARTER],
        [shrinks("v", 2, "s")],
    ),
    "its trainer cannot be asked": ([asking(victim()), STARTER], []),
    "its range is wrong": ([victim(workers="5..9"), STARTER], []),
    "another starter waits already": (
        [
            changing(victim("w", nodes="aa"), 1, starts=key_of("t"), phase=Phase.ASKED),
            victim(nodes="aa"),
            waiting("t", 1, at=950.0, **HIGH),
            STARTER,
        ],
        [],
    ),
}


@pytest.mark.parametrize(("entities", "wanted"), STARTS.values(), ids=STARTS.keys())
def test_who_shrinks_for_whom(entities, wanted) -> None:
    assert list(proposed(*entities)) == wanted


def test_workers_that_wait_for_room_leave_first() -> None:
    owner, *pods = victim(nodes="aaaa", workers="1..6")
    owner = replace(owner, size=5, counts=(replace(owner.counts[0], count=5),))
    grown = [owner, *pods, *more_workers(owner, [4])]
    assert list(proposed(grown, STARTER)) == [shrinks("v", 2, "s")]


def test_a_starving_job_takes_from_all_jobs() -> None:
    params = CoreParameters(scaling=ScalingParameters(starvation_seconds=60.0))
    important = victim(**HIGH)
    late = waiting("s", 2, at=NOW - 60.0)
    assert list(proposed(important, late, params=params)) == [shrinks("v", 2, "s", Cause.STARVING)]
    early = waiting("s", 2, at=NOW - 59.0)
    assert proposed(important, early, params=params) == ()


def test_while_room_is_kept_for_a_job_no_other_job_starts() -> None:
    held = with_notes(waiting("h", 9, at=100.0), **{"max-wait": "10s"})
    nodes = [make_node("a", cpu="4"), make_node("b", cpu="6")]
    others = [victim(), running("f", "bbbbb"), waiting("s", 2, at=900.0, **HIGH)]
    assert proposed(*others, nodes=nodes) == (shrinks("v", 3, "s"),)
    assert proposed(*others, held, nodes=nodes) == ()


def test_the_job_for_which_room_is_kept_may_be_the_starter() -> None:
    held = with_notes(waiting("h", 2, at=100.0, **HIGH), **{"max-wait": "10s"})
    assert proposed(victim(), held) == (shrinks("v", 2, "h"),)


SHORT = with_notes(waiting("s", 2, at=900.0), **{"max-wait": "10s"})
GROWS = {
    "into what is free": ([victim(nodes="aa")], [grows("v", 4)]),
    "no further than its most": ([victim(nodes="aa", workers="1..3")], [grows("v", 3)]),
    "in turns, the most important first": (
        [victim("v", nodes="a", workers="1..4"), victim("w", nodes="a", workers="1..4", **HIGH)],
        [grows("w", 2), grows("v", 2)],
    ),
    "not beside workers that wait already": (
        [surplus := victim(nodes="aa"), more_workers(surplus[0], [])],
        [grows("v", 4)],
    ),
    "not while its owner still makes pods": (
        [[replace(victim()[0]), *victim(nodes="aa")[1:]]],
        [],
    ),
    "not for a moment after it gave workers away": (
        [changing(victim(nodes="aa"), 2, starts=key_of("s"), phase=Phase.DONE, since=NOW - 40.0)],
        [],
    ),
    "later it does": (
        [changing(victim(nodes="aa"), 2, starts=key_of("s"), phase=Phase.DONE, since=NOW - 61.0)],
        [grows("v", 4)],
    ),
    "into what a job that starts now leaves": (
        [victim(nodes="aa"), waiting("s", 1, at=900.0)],
        [grows("v", 3)],
    ),
    "beside a job that cannot start": (
        [victim(nodes="aa", workers="2..4"), waiting("s", 3, at=900.0)],
        [grows("v", 4)],
    ),
    "not into room that is kept for another": (
        [victim(nodes="aa", workers="2..4"), running("f", "a"), SHORT],
        [],
    ),
    "also where its trainer cannot be asked": ([asking(victim(nodes="aa"))], [grows("v", 4)]),
}


@pytest.mark.parametrize(("entities", "wanted"), GROWS.values(), ids=GROWS.keys())
def test_who_grows(entities, wanted) -> None:
    assert list(proposed(*entities)) == wanted


def test_a_job_whose_surplus_waits_does_not_grow() -> None:
    owner, *pods = victim(nodes="aa", workers="1..8")
    owner = replace(owner, counts=(replace(owner.counts[0], count=3),))
    big = {"shape": None, "cpu": "9"}
    assert proposed(owner, pods, more_workers(owner, [2], **big)) == ()


def test_newcomers_go_where_the_job_requires_them() -> None:
    """Free room outside of its rack is none of its."""
    nodes = [
        make_node("a", cpu="3", labels={"cloud.provider.com/topology-rack": "r1"}),
        make_node("b", cpu="9", labels={"cloud.provider.com/topology-rack": "r2"}),
    ]
    near = with_notes(victim(nodes="aa", workers="1..6"), **{"required-topology": "rack"})
    assert proposed(near, nodes=nodes) == (grows("v", 3),)
    assert proposed(victim(nodes="aa", workers="1..6"), nodes=nodes) == (grows("v", 6),)


def test_released_pods_are_pinned_but_newcomers_are_not() -> None:
    pinned = make_shape(cpu="1", memory="0", affinity=pinned_to("a"))
    nodes = [make_node("a", cpu="2"), make_node("b", cpu="4")]
    one = victim(nodes="aa", workers="1..4", pod={"shape": pinned})
    assert proposed(one, nodes=nodes) == (grows("v", 4),)


def test_servers_stay_and_workers_of_several_owners_are_distinguished() -> None:
    notes = {labels.WORKERS: "1..3", labels.SHRINK: "terminate", labels.MIN_AVAILABLE: "2"}
    servers = make_owner("ps", size=1, annotations=notes)
    workers = replace(
        make_owner("w", size=3, annotations=notes),
        counts=(WorkerCount(count=3, fields=("/n",)),),
    )
    common = {"job": "g", "memory": "0", "plan": "p"}
    pods = [
        make_pod("ps-0", owner=servers, index=0, role="ps", node="a", **common),
        *(
            make_pod(f"w-{i}", owner=workers, index=i, role="worker", node="a", **common)
            for i in range(3)
        ),
    ]
    wanted = Proposal(
        JobKey("default/group/g"), 1, Cause.MORE_IMPORTANT, starts=JobKey("default/job/s")
    )
    assert list(proposed(servers, workers, pods, STARTER)) == [wanted]


def trained(name="v", left=1000, **seconds):
    """What an agent says of a job, and its measured seconds a step by number of workers."""
    pod_report = make_pod_report(f"default-{name}-0", step=0, total_steps=left)
    numbers = tuple(Sample(int(w[1:]), 0, (s, s)) for w, s in seconds.items())
    known = SpeedMemory(samples={f"default/job/{name}": Samples(numbers)} if numbers else {})
    return {"reports": [make_report("a", [pod_report], received_at=NOW)], "speeds": known}


GAINS = {
    "to where one more saves too little": (
        trained(w1=5.0, w2=3.0, w4=2.0),  # T = 4/w + 1
        [Proposal(key_of("v"), 4, Cause.SAVES_TIME, saved_seconds=1000.0)],
    ),
    "not for what is nearly done": (trained(left=12, w1=5.0, w2=3.0, w4=2.0), []),
    "not past its best number": (trained(w1=5.0, w2=4.0, w4=5.0), []),
    "it gives workers back that slow it": (
        trained(w1=3.0, w2=4.0, w4=6.0),
        [Proposal(key_of("v"), 1, Cause.SLOWS, saved_seconds=1000.0)],
    ),
    "one at a time while it is measured": (trained(w2=3.0), [grows("v", 3)]),
    "at once if its speed stays unknown": ({}, [grows("v", 4)]),
}


@pytest.mark.parametrize(("known", "wanted"), GAINS.values(), ids=GAINS.keys())
def test_who_grows_by_what_was_measured(known, wanted) -> None:
    found = [
        replace(one, saved_seconds=one.saved_seconds and round(one.saved_seconds))
        for one in proposed(victim(nodes="aa"), **known)
    ]
    assert found == wanted


def test_growth_stays_within_what_the_namespace_may_hold() -> None:
    limit = {labels.GUARANTEED_SHARE: "0.5", labels.BORROWING_LIMIT: "0.25"}
    shared = dataclasses.replace(PATIENT, fair_share=FairShareParameters(enabled=True))
    space = make_namespace(annotations=limit)
    assert proposed(victim(nodes="aa"), space) == (grows("v", 4),)
    assert proposed(victim(nodes="aa"), space, params=shared) == (grows("v", 3),)


def test_growth_leaves_the_part_of_jobs_with_a_utility_alone() -> None:
    half = SlotTimeParameters(enabled=True, share=0.25)
    params = dataclasses.replace(PATIENT, slot_time=half)
    assert proposed(victim(nodes="aa"), params=params) == (grows("v", 3),)


def test_a_job_that_still_waits_for_another_pod_of_its_own_is_left_alone() -> None:
    owner, *pods = victim(nodes="aa")
    owner = replace(owner, size=3, counts=(replace(owner.counts[0], role="worker"),))
    workers = [replace(pod, labels={**pod.labels, labels.ROLE: "worker"}) for pod in pods]
    server = make_pod("v-ps", owner=owner, role="ps", index=2, memory="0", gated=True, cpu="9")
    placed_ = make_pod("v-ps", owner=owner, role="ps", index=2, memory="0", node="a", plan="p-v")
    assert proposed(owner, workers, server) == ()
    assert proposed(owner, workers, placed_) == (grows("v", 3),)


def test_without_a_range_no_job_is_read(monkeypatch) -> None:
    def fail(*_):
        raise AssertionError

    monkeypatch.setattr("extender.core.queue.decision.QueueDecision.decide", fail)
    assert proposed(running("v", "aaaa"), STARTER, queued_job("x", 2)) == ()


def test_switched_off_nothing_is_proposed() -> None:
    off = dataclasses.replace(PATIENT.rescaling, enabled=False)
    params = dataclasses.replace(PATIENT, rescaling=off)
    assert proposed(victim(), STARTER, params=params) == ()
