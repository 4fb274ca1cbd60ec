"""Reservations are signed: forged ones have no effect (defects A5 and E4)."""

import base64
import contextlib
from collections.abc import AsyncIterator

import pytest

from extender.writers.signing import signing_keys
from shared import labels, signing_secret
from shared.errors import SettingsError
from shared.kube import paths
from tests.component.shell import MiniScheduler, bound, extender, pod, put_keys
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.nodes("a", "b")

UNSIGNED = {"signing": {"secret": None}}


@contextlib.asynccontextmanager
async def signing(fake: FakeKube) -> AsyncIterator[None]:
    async with extender(fake) as running, MiniScheduler(fake, running.scheduler_url).running():
        yield


def put_gang(fake, job="j", size=4):
    for i in range(size):
        fake.put(paths.PODS, pod(f"{job}-{i}", job=job, size=size))


def notes(fake, name):
    return fake.object(paths.PODS, name, "default")["metadata"]["annotations"]


def edit(fake, name, **changes):
    """Change annotations of a pod as ``kubectl annotate`` does; None removes one."""
    found = fake.object(paths.PODS, name, "default")
    wanted = {**found["metadata"]["annotations"], **changes}
    kept = {key: text for key, text in wanted.items() if text is not None}
    fake.put(paths.PODS, {**found, "metadata": {**found["metadata"], "annotations": kept}})


def forged(name, node_name):
    """A pod that claims a whole node; with a gate of its own it never runs."""
    made = pod(name, schedulingGates=[{"name": "example.com/mine"}])
    made["metadata"]["annotations"] = {
        labels.NODE: node_name,
        labels.PLAN: "p",
        labels.PLAN_SIZE: "1",
    }
    made["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "4"
    return made


@pytest.mark.parametrize("gated", [True, False])
async def test_forged_reservations_hold_no_room(fake, gated):
    for i, name in enumerate("ab"):
        made = forged(f"forged-{i}", name)
        if not gated:
            made["spec"]["schedulingGates"] = []
            made["metadata"]["annotations"][labels.MIN_AVAILABLE] = "2"  # it waits for another
        fake.put(paths.PODS, made)
    put_gang(fake, size=8)
    async with signing(fake):
        await eventually(lambda: len(bound(fake)) == 8)


async def test_a_gang_is_bound_whole_with_signed_reservations(fake):
    put_gang(fake)
    async with signing(fake):
        await eventually(lambda: len(bound(fake)) == 4)
    assert notes(fake, "j-0")[labels.RESERVATION_SIGNATURE].startswith("v1:")


async def test_a_gang_without_gates_is_bound_whole_with_signed_reservations(fake):
    for i in range(3):
        fake.put(paths.PODS, pod(f"d-{i}", job="d", size=3, schedulingGates=[]))
    async with signing(fake):
        await eventually(lambda: len(bound(fake)) == 3)
    assert all(labels.RESERVATION_SIGNATURE in notes(fake, f"d-{i}") for i in range(3))


NO_HOLD = {"burst_hold_seconds": 0}
"""Without kube-scheduler the gang is released and stays unbound."""


async def test_unsigned_reservations_of_an_older_version_are_planned_again_without_deletions(fake):
    put_gang(fake)
    async with extender(fake, gang=NO_HOLD, **UNSIGNED):
        await eventually(lambda: all(labels.PLAN in notes(fake, f"j-{i}") for i in range(4)))
    uids = {p["metadata"]["uid"] for p in fake.objects(paths.PODS)}
    assert labels.RESERVATION_SIGNATURE not in notes(fake, "j-0")
    async with signing(fake):
        await eventually(lambda: len(bound(fake)) == 4)
    assert {p["metadata"]["uid"] for p in fake.objects(paths.PODS)} == uids
    assert all(labels.RESERVATION_SIGNATURE in notes(fake, f"j-{i}") for i in range(4))


async def test_with_a_lost_key_gangs_are_planned_again_without_deletions(fake):
    put_gang(fake)
    async with extender(fake, gang=NO_HOLD):
        await eventually(lambda: all(labels.PLAN in notes(fake, f"j-{i}") for i in range(4)))
    before = notes(fake, "j-0")[labels.RESERVATION_SIGNATURE]
    uids = {p["metadata"]["uid"] for p in fake.objects(paths.PODS)}
    put_keys(fake)  # the Secret was emptied
    async with signing(fake):
        await eventually(lambda: len(bound(fake)) == 4)
    assert {p["metadata"]["uid"] for p in fake.objects(paths.PODS)} == uids
    assert notes(fake, "j-0")[labels.RESERVATION_SIGNATURE].split(":")[1] != before.split(":")[1]


async def test_with_a_lost_key_members_that_are_bound_are_left_alone(fake):
    put_gang(fake)
    async with signing(fake):
        await eventually(lambda: len(bound(fake)) == 4)
    last = fake.object(paths.PODS, "j-3", "default")
    fake.put(paths.PODS, {**last, "spec": {**last["spec"], "nodeName": None}})  # one is not, yet
    put_keys(fake)
    uids = {p["metadata"]["uid"] for p in fake.objects(paths.PODS)}
    async with signing(fake):
        await eventually(lambda: len(bound(fake)) == 4)
    assert {p["metadata"]["uid"] for p in fake.objects(paths.PODS)} == uids


EDITS = {
    "the plan is removed": {labels.PLAN: None},
    "the node is removed": {labels.NODE: None},
    "the node is another": {labels.NODE: "b"},
    "the signature is removed": {labels.RESERVATION_SIGNATURE: None},
    "the signature is another's": {labels.RESERVATION_SIGNATURE: "v1:00000000:1:00"},
    "the signature is no signature": {labels.RESERVATION_SIGNATURE: "x"},
    "it says it is direct": {labels.DIRECT: "true"},
    "all is removed": dict.fromkeys(labels.RESERVATION),
}


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS.keys())
async def test_a_gang_with_edited_reservations_is_bound_whole(fake, edits):
    put_gang(fake)
    async with extender(fake, gang=NO_HOLD) as running:
        await eventually(lambda: all(labels.PLAN in notes(fake, f"j-{i}") for i in range(4)))
        uids = {p["metadata"]["uid"] for p in fake.objects(paths.PODS)}
        for i in (1, 2):
            edit(fake, f"j-{i}", **edits)
        async with MiniScheduler(fake, running.scheduler_url).running():
            await eventually(lambda: len(bound(fake)) == 4)
    assert {p["metadata"]["uid"] for p in fake.objects(paths.PODS)} == uids


async def test_the_first_replica_creates_the_key_and_the_next_uses_it(fake):
    async with extender(fake):
        made = fake.objects(paths.SECRETS)[0]["data"]
        assert set(made) == {signing_secret.CURRENT}
    async with extender(fake):
        assert fake.objects(paths.SECRETS)[0]["data"] == made


async def test_after_a_rotation_both_keys_count(fake):
    put_gang(fake)
    async with extender(fake, gang=NO_HOLD):
        await eventually(lambda: all(labels.PLAN in notes(fake, f"j-{i}") for i in range(4)))
    before = [notes(fake, f"j-{i}") for i in range(4)]
    (secret,) = fake.objects(paths.SECRETS)
    new = base64.b64encode(signing_secret.new_key()).decode()
    put_keys(fake, current=new, previous=secret["data"][signing_secret.CURRENT])
    async with signing(fake):
        await eventually(lambda: len(bound(fake)) == 4)
    after = [notes(fake, f"j-{i}") for i in range(4)]
    assert [n[labels.RESERVATION_SIGNATURE] for n in after] == [
        n[labels.RESERVATION_SIGNATURE] for n in before
    ]


async def test_without_the_secret_the_extender_does_not_start_and_names_its_manifest(fake):
    fake.put(paths.SECRETS, {"metadata": {"name": "other", "namespace": "default"}, "data": {}})
    short = {"signing": {"wait_seconds": 1}}
    with pytest.raises(SettingsError, match=r"signing\.secret: .* does not exist \(deploy/base"):
        async with extender(fake, **short):
            pass


async def test_the_previous_keys_stay_in_use_while_the_secret_cannot_be_read(fake, monkeypatch):
    monkeypatch.setattr(signing_keys, "READ_SECONDS", 0.1)
    monkeypatch.setattr(signing_keys, "RETRY_SECONDS", 0.05)
    async with signing(fake):
        (secret,) = fake.objects(paths.SECRETS)
        fake.remove(paths.SECRETS, secret["metadata"]["name"], secret["metadata"]["namespace"])
        reads = len(fake.verbs("secrets"))
        await eventually(lambda: len(fake.verbs("secrets")) > reads + 2)
        put_gang(fake)
        await eventually(lambda: len(bound(fake)) == 4)
    assert labels.RESERVATION_SIGNATURE in notes(fake, "j-0")
