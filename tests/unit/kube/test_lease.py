import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from shared.kube import lease, paths
from shared.kube.client import KubeClient
from shared.kube.lease import LeaseObserver, LeaseReader
from shared.system_clock import SystemClock
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

ME = "host-1_5f3c"

# readings: (holder, renewTime, monotonic second); then identity, second of the call, result
CASES: dict[str, tuple[list[tuple[str, str, float]], str, float, bool]] = {
    "never seen": ([], "host-1", 0, False),
    "seen once proves nothing": ([(ME, "t1", 0)], "host-1", 0, False),
    "seen to change": ([(ME, "t1", 0), (ME, "t2", 2)], "host-1", 2, True),
    "until it runs out": ([(ME, "t1", 0), (ME, "t2", 2)], "host-1", 14.9, True),
    "and no longer: it may be as old": ([(ME, "t1", 0), (ME, "t2", 2)], "host-1", 15, False),
    "seen again unchanged": ([(ME, "t1", 0), (ME, "t2", 2), (ME, "t2", 14)], "host-1", 15, False),
    "frozen for long": ([(ME, "t1", 0), (ME, "t2", 20)], "host-1", 20, False),
    "until it is seen once more": (
        [(ME, "t1", 0), (ME, "t2", 20), (ME, "t3", 22)],
        "host-1",
        22,
        True,
    ),
    "another host": ([(ME, "t1", 0), (ME, "t2", 2)], "host-2", 2, False),
    "taken over": ([(ME, "t1", 0), (ME, "t2", 2), ("host-2_1", "t3", 3)], "host-1", 3, False),
    "taken over by us": ([("host-2_1", "t1", 0), (ME, "t2", 2)], "host-1", 2, True),
    "a host with underscores": ([("a_b_1", "t1", 0), ("a_b_1", "t2", 1)], "a_b", 1, True),
    "a holder without suffix": ([("host-1", "t1", 0), ("host-1", "t2", 1)], "host-1", 1, False),
    "released": ([(ME, "t1", 0), ("", "t2", 2)], "host-1", 2, False),
    "an empty holder is no holder": ([("", "t1", 0), ("", "t2", 2)], "", 2, False),
}


@pytest.mark.parametrize(("readings", "identity", "at", "acting"), CASES.values(), ids=CASES)
def test_the_leader_by_readings(
    readings: list[tuple[str, str, float]], identity: str, at: float, acting: bool
) -> None:
    observer = LeaseObserver()
    for holder, renew_time, monotonic in readings:
        observer.observe(holder, renew_time, monotonic, duration_seconds=15)
    assert observer.acting(identity, at) is acting


def test_a_lease_that_vanished_has_no_holder() -> None:
    observer = LeaseObserver()
    for second, renew_time in enumerate(("t1", "t2")):
        observer.observe(ME, renew_time, second, duration_seconds=15)
    observer.vanish(1)
    assert not observer.acting("host-1", 1)


async def test_the_follower_reads_the_lease_despite_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "POLL_SECONDS", 0.01)
    observer, clock = LeaseObserver(), SystemClock()
    reported: list[str] = []

    def put(fake: FakeKube, renew_time: str) -> None:
        spec = {"holderIdentity": ME, "leaseDurationSeconds": 9, "renewTime": renew_time}
        metadata = {"name": "l", "namespace": "kube-system"}
        fake.put(paths.LEASES, {"metadata": metadata, "spec": spec})

    def report(_path: str, error: Exception) -> None:
        reported.append(str(error))

    async with FakeKube.running() as fake, KubeClient.connect(fake.credentials) as client:
        path = paths.lease("kube-system", "l")
        fake.faults.order("get", path, kube_faults.SERVER_ERROR)
        following = asyncio.create_task(LeaseReader(client, path, observer, clock, report).run())
        await eventually(lambda: reported)
        put(fake, "2026-11-21T12:00:00.000000Z")
        await eventually(lambda: observer.holder == ME)
        assert not observer.acting("host-1", clock.monotonic())
        put(fake, "2026-11-21T12:00:02.000000Z")
        await eventually(lambda: observer.acting("host-1", clock.monotonic()))
        assert observer.duration_seconds == 9
        fake.remove(paths.LEASES, "l", "kube-system")
        await eventually(lambda: not observer.acting("host-1", clock.monotonic()))
        following.cancel()


async def test_a_reading_that_is_no_utf_8_is_reported_and_reading_continues(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lease, "POLL_SECONDS", 0.01)
    reported: list[Exception] = []

    async def garbled(_path: str) -> bytes:
        return b'{"spec": {"holderIdentity": "\xff"}}'

    client = cast("KubeClient", SimpleNamespace(get=garbled))
    reader = LeaseReader(
        client,
        "/any",
        LeaseObserver(),
        SystemClock(),
        lambda _path, error: reported.append(error),
    )
    following = asyncio.create_task(reader.run())
    await eventually(lambda: len(reported) > 1)
    following.cancel()
