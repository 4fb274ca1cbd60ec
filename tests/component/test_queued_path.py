"""From gated pods to bound gangs through every part of the extender, with faults."""

import asyncio

import aiohttp
import pytest

from extender.core.scheduler import binding
from extender.metrics.requests import Passed
from extender.servers.scheduler.barrier import BindBarrier
from extender.writers.bindings import ATTEMPTS
from shared import labels
from shared.kube import paths
from tests.component.shell import MiniScheduler, bound, extender, lease, node, pod
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a", "b")


def put_gang(fake, job="j", size=4, **fields):
    for i in range(size):
        fake.put(paths.PODS, pod(f"{job}-{i}", job=job, size=size, **fields))


async def test_a_gated_gang_is_bound_whole(fake):
    put_gang(fake)
    async with extender(fake) as running, MiniScheduler(fake, running.scheduler_url).running():
        await eventually(lambda: len(bound(fake)) == 4)
    assert set(bound(fake).values()) == {"a"}
    found = fake.object(paths.PODS, "j-0", "default")
    assert found["metadata"]["annotations"][labels.NODE] == "a"
    assert labels.DECISION in found["metadata"]["annotations"]


def pods_with_events(fake):
    return {event["regarding"]["name"] for event in fake.objects(paths.EVENTS)}


async def test_a_gang_that_does_not_fit_waits_whole_with_a_reason(fake):
    put_gang(fake, size=9)
    async with extender(fake) as running, MiniScheduler(fake, running.scheduler_url).running():
        await eventually(lambda: pods_with_events(fake) >= {f"j-{i}" for i in range(9)})
        await eventually(lambda: _reasons(fake) == {"GangDoesNotFit"})
        assert bound(fake) == {}
        fake.put(paths.NODES, node("c"))
        await eventually(lambda: len(bound(fake)) == 9)


async def test_a_replica_without_the_lease_does_nothing():
    async with FakeKube.running() as fake, lease(fake, holder="host-b"):
        fake.put(paths.NODES, node("a"))
        put_gang(fake)
        async with extender(fake) as running:
            assert running.parts is not None
            answer = await _call(running, "filter", {"Pod": pod("x"), "NodeNames": ["a"]})
            assert answer["Error"] == binding.STANDBY.text
        assert fake.verbs("pods") == ["list", "watch"]


async def test_a_gang_may_have_more_members_than_calls_may_wait(fake):
    fake.put(paths.NODES, node("c", cpu="64"))
    put_gang(fake, size=30)
    gang = {"bind_wait_seconds": 60.0, "burst_hold_seconds": 0}
    async with extender(fake, gang=gang) as running:
        _barrier(running).most_calls = 9
        scheduler = MiniScheduler(fake, running.scheduler_url)
        async with scheduler.running():
            await eventually(lambda: len(bound(fake)) == 30)
            await eventually(lambda: _answers(scheduler).count("") >= 9)
    assert set(_answers(scheduler)) == {"", binding.NO_NEED_TO_WAIT.text}


ONE_BY_ONE = {"burst_hold_seconds": 0}
"""Pods are released and pinned one by one; kube-scheduler is asked about each."""


async def test_a_waiting_call_succeeds_when_its_pod_is_bound_to_that_node_without_it(fake):
    put_gang(fake, size=2)
    async with extender(fake, gang={**ONE_BY_ONE, "bind_wait_seconds": 60.0}) as running:
        await eventually(lambda: _released(fake) == 2)
        args = _bind_args(fake, "j-0")
        call = asyncio.create_task(_call(running, "bind", args))
        await eventually(lambda: _barrier(running).waiting() == 1)
        manifest = fake.object(paths.PODS, "j-0", "default")
        fake.put(paths.PODS, {**manifest, "spec": {**manifest["spec"], "nodeName": args["Node"]}})
        assert (await call).get("Error", "") == ""


async def test_a_call_sent_away_counts_as_arrived_for_a_limited_time(fake):
    put_gang(fake, size=2)
    none_waits, short = {"most_connections": 1}, {**ONE_BY_ONE, "bind_wait_seconds": 5.0}
    async with extender(fake, scheduler=none_waits, gang=short) as running:
        await eventually(lambda: _released(fake) == 2)
        answer = await _call(running, "bind", _bind_args(fake, "j-0"))
        assert answer["Error"] == binding.NO_NEED_TO_WAIT.text
        assert _barrier(running).waiting() == 1
        await eventually(lambda: _barrier(running).waiting() == 0)
        _barrier(running).bind_wait_seconds = 60.0
        answer = await _call(running, "bind", _bind_args(fake, "j-1"))
        assert (answer["Error"], bound(fake)) == (binding.NO_NEED_TO_WAIT.text, {})
        answer = await _call(running, "bind", _bind_args(fake, "j-0"))
        assert answer.get("Error", "") == ""
        await eventually(lambda: len(bound(fake)) == 2)


BIND_FAULTS = {
    "the answer is lost": kube_faults.LostAnswer(),
    "the connection ends before": kube_faults.Disconnect(),
    "the server stumbles": kube_faults.SERVER_ERROR,
    "another client was quicker": kube_faults.CONFLICT,
    "too many requests": kube_faults.throttled(),
}


@pytest.mark.parametrize("fault", BIND_FAULTS.values(), ids=BIND_FAULTS.keys())
async def test_a_fault_in_a_binding_leaves_no_partial_gang(fake, fault):
    put_gang(fake)
    fake.faults.order("create", "*/binding", fault)
    async with extender(fake) as running, MiniScheduler(fake, running.scheduler_url).running():
        await eventually(lambda: len(bound(fake)) == 4)
    assert fake.faults.left == 0


RELEASE_FAULTS = {
    "the answer is lost": kube_faults.LostAnswer(),
    "the connection ends before": kube_faults.Disconnect(),
    "the server stumbles": kube_faults.SERVER_ERROR,
    "another client was quicker": kube_faults.CONFLICT,
}


@pytest.mark.parametrize("fault", RELEASE_FAULTS.values(), ids=RELEASE_FAULTS.keys())
async def test_a_fault_in_a_release_leaves_no_partial_gang(fake, fault):
    put_gang(fake)
    fake.faults.order("patch", "*/pods/j-2", fault)
    async with extender(fake) as running, MiniScheduler(fake, running.scheduler_url).running():
        await eventually(lambda: len(bound(fake)) == 4)
    assert fake.faults.left == 0


async def test_a_pod_of_another_scheduler_is_bound_alone_and_counted(fake):
    """Its label names a gang, and it is too large for each node: neither matters."""
    theirs = pod("theirs", job="j", size=4, schedulerName="other", schedulingGates=[])
    theirs["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "9"
    fake.put(paths.PODS, theirs)
    theirs = fake.object(paths.PODS, "theirs", "default")
    async with extender(fake) as running:
        assert _passed(running) == {"filter": 0, "bind": 0}
        args = {"Pod": theirs, "NodeNames": ["a", "b"]}

        async def passes():
            return (await _call(running, "filter", args))["NodeNames"] == ["a", "b"]

        await eventually(passes)  # a replica that does not act yet counts none
        assert _passed(running) == {"filter": 1, "bind": 0}
        who = {"PodNamespace": "default", "PodName": "theirs", "PodUID": theirs["metadata"]["uid"]}
        assert (await _call(running, "bind", {**who, "Node": "b"}))["Error"] == ""
        assert bound(fake) == {"theirs": "b"}
        assert _passed(running) == {"filter": 1, "bind": 1}
        await _call(running, "filter", {**args, "Pod": pod("ours", schedulingGates=[])})
        assert _passed(running) == {"filter": 1, "bind": 1}


async def test_a_repeated_bind_call_succeeds(fake):
    put_gang(fake, size=1)
    async with extender(fake) as running, MiniScheduler(fake, running.scheduler_url).running():
        await eventually(lambda: len(bound(fake)) == 1)
        uid = fake.object(paths.PODS, "j-0", "default")["metadata"]["uid"]
        body = {"PodName": "j-0", "PodNamespace": "default", "PodUID": uid, "Node": "a"}
        assert (await _call(running, "bind", body))["Error"] == ""
        wrong = {**body, "Node": "b"}
        assert (await _call(running, "bind", wrong))["Error"] == binding.BOUND_ELSEWHERE.text


async def test_a_member_that_never_arrives_ends_the_wait_with_an_error(fake):
    put_gang(fake, size=2)
    async with extender(fake, gang=ONE_BY_ONE) as running:
        await eventually(lambda: _released(fake) == 2)
        body = _bind_args(fake, "j-0")
        assert (await _call(running, "bind", body))["Error"] == binding.GANG_NOT_THERE.text
    assert bound(fake) == {}


async def test_a_binding_that_fails_again_is_reported_and_retried(fake):
    put_gang(fake, size=1)
    fake.faults.order("create", "*/binding", *[kube_faults.SERVER_ERROR] * ATTEMPTS)
    async with extender(fake) as running:
        scheduler = MiniScheduler(fake, running.scheduler_url)
        async with scheduler.running():
            await eventually(lambda: len(bound(fake)) == 1)
            await eventually(lambda: len(scheduler.answers["j-0"]) == 2)
    assert scheduler.answers["j-0"] == ["shuntyard: binding failed: InternalError", ""]


async def test_a_pod_deleted_at_the_barrier_gets_its_answer_at_once(fake):
    put_gang(fake, size=2)
    async with extender(fake, gang={**ONE_BY_ONE, "bind_wait_seconds": 60.0}) as running:
        await eventually(lambda: _released(fake) == 2)
        call = asyncio.create_task(_call(running, "bind", _bind_args(fake, "j-0")))
        fake.remove(paths.PODS, "j-0", "default")
        assert (await asyncio.wait_for(call, 50))["Error"] == binding.POD_GONE.text
    assert bound(fake) == {}


async def test_a_lost_node_is_replaced_by_a_spare(fake):
    put_gang(fake, size=2)
    async with extender(fake, gang=ONE_BY_ONE) as running:
        await eventually(lambda: _released(fake) == 2)
        fake.remove(paths.NODES, "a")
        async with MiniScheduler(fake, running.scheduler_url).running():
            await eventually(lambda: bound(fake) == {"j-0": "b", "j-1": "b"})


async def test_a_bare_pod_with_a_lost_pin_is_recreated(fake):
    fake.remove(paths.NODES, "b")
    fake.put(paths.PODS, pod("single"))
    async with extender(fake, gang=ONE_BY_ONE) as running:
        await eventually(lambda: _released(fake) == 1)
        fake.remove(paths.NODES, "a")
        fake.put(paths.NODES, node("late"))
        async with MiniScheduler(fake, running.scheduler_url).running():
            await eventually(lambda: list(bound(fake).values()) == ["late"])
    assert len(fake.objects(paths.PODS)) == 1


@pytest.mark.parametrize(("hold", "before"), [(0.0, 3), (0.4, 2)], ids=["bind calls", "burst"])
async def test_a_gang_is_bound_after_a_crash_in_the_middle_of_its_burst(fake, hold, before):
    put_gang(fake)
    first_try, next_try = kube_faults.Slow(), kube_faults.Slow()
    fake.faults.order("create", "*/j-2/binding", first_try, next_try)  # after a hold there is one
    patient = {"bind_wait_seconds": 30.0, "bind_burst_seconds": 30.0}  # not given up meanwhile
    async with extender(fake, gang={**patient, "burst_hold_seconds": hold}) as first:
        scheduler = MiniScheduler(fake, first.scheduler_url)
        async with scheduler.running():
            # On a busy machine a hold may be over before it is seen: then one more is bound.
            await eventually(lambda: len(bound(fake)) >= before)
            assert "j-2" not in bound(fake)
            await first.kill()
            next_try.gate.set()
            async with extender(fake, gang=patient) as second:
                scheduler.url = second.scheduler_url
                await eventually(lambda: len(bound(fake)) == 4)


def _reasons(fake):
    found = set()
    for one in fake.objects(paths.PODS):
        for condition in one["status"].get("conditions", []):
            if condition["type"] == labels.QUEUED_CONDITION:
                found.add(condition["reason"])
    return found


def _released(fake):
    pods = fake.objects(paths.PODS)
    return sum(labels.NODE in p["metadata"].get("annotations", {}) for p in pods)


async def _call(running, verb, body):
    url = f"{running.scheduler_url}/{verb}"
    async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
        assert response.status == 200
        return await response.json()


def _answers(scheduler):
    return [text for given in scheduler.answers.values() for text in given]


def _barrier(running):
    (found,) = (one for one in running.parts.loops if isinstance(one, BindBarrier))
    return found


def _passed(running):
    """Return how many calls about pods of other schedulers are counted, by verb."""
    metrics = _barrier(running).metrics
    return {verb: metrics.requests.passed.labels(verb=verb)._value.get() for verb in Passed}


def _bind_args(fake, name):
    meta = fake.object(paths.PODS, name, "default")["metadata"]
    return {
        "PodName": name,
        "PodNamespace": "default",
        "PodUID": meta["uid"],
        "Node": meta["annotations"][labels.NODE],
    }
