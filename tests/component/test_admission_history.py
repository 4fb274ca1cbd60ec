"""The history of admission in its ConfigMap: a restart, a second replica, a foreign hand."""

import logging

import pytest

from extender.core.pricing import history
from extender.core.pricing.history import History, PastJob
from extender.core.records.slot_plan import JobRequest
from extender.writers.history import KEY, NAME, PAUSE_SECONDS, HistoryKeeper
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.model import Uid
from tests.fakes import kube_faults
from tests.fakes.builders import make_shape
from tests.fakes.clock import FakeClock
from tests.fakes.kube import FakeKube

NAMESPACE = "shuntyard-system"
WARNINGS = "extender.writers.history"


def known(*uids: str, **steps: float) -> History:
    asked = JobRequest(utility="sigmoid:1,0,1h", training="epochs=1", worker=make_shape(cpu="1"))
    return History(tuple(PastJob(Uid(uid), asked) for uid in uids), steps)


def install(fake: FakeKube, text: str | None = None) -> None:
    data = {} if text is None else {"data": {KEY: text}}
    fake.put(paths.CONFIG_MAPS, {"metadata": {"name": NAME, "namespace": NAMESPACE}, **data})


def kept(fake: FakeKube) -> History:
    found = fake.object(paths.CONFIG_MAPS, NAME, NAMESPACE)
    assert found is not None
    return history.read(found["data"][KEY], field="")


async def test_history_survives_a_restart(fake: FakeKube, client: KubeClient) -> None:
    install(fake)
    first = HistoryKeeper(client, NAMESPACE, FakeClock())
    assert await first.load() == History()
    assert await first.save(known("a", x=1.5)) == known("a", x=1.5)
    assert await HistoryKeeper(client, NAMESPACE, FakeClock()).load() == known("a", x=1.5)


async def test_new_history_is_written_at_most_once_a_minute(
    fake: FakeKube, client: KubeClient
) -> None:
    install(fake)
    clock = FakeClock()
    keeper = HistoryKeeper(client, NAMESPACE, clock)
    await keeper.load()
    for uids in ("a", "ab", "abc"):
        await keeper.save(known(*uids))
    assert (fake.verbs("configmaps"), kept(fake)) == (["get", "patch"], known("a"))
    clock.pass_by(PAUSE_SECONDS)
    await keeper.save(known(*"abc"))
    clock.pass_by(PAUSE_SECONDS)
    await keeper.save(known(*"abc"))
    assert (fake.verbs("configmaps"), kept(fake)) == (["get", "patch", "patch"], known(*"abc"))


async def test_history_of_another_replica_is_merged_before_ours_is_written(
    fake: FakeKube, client: KubeClient
) -> None:
    install(fake)
    clock = FakeClock()
    keeper = HistoryKeeper(client, NAMESPACE, clock)
    await keeper.load()
    install(fake, history.text(known("theirs", x=2.0)))
    both = await keeper.save(known("ours"))
    assert (both, kept(fake)) == (known("theirs", "ours", x=2.0), known("theirs", x=2.0))
    clock.pass_by(PAUSE_SECONDS)
    await keeper.save(both)
    assert kept(fake) == both


async def test_an_unreadable_entry_is_logged_with_its_key_and_rewritten(
    fake: FakeKube, client: KubeClient, caplog: pytest.LogCaptureFixture
) -> None:
    install(fake, "a hand was here")
    keeper = HistoryKeeper(client, NAMESPACE, FakeClock())
    with caplog.at_level(logging.WARNING, WARNINGS):
        assert await keeper.load() == History()
    assert f"ConfigMap {NAMESPACE}/{NAME}, key {KEY}: 'a hand was here'" in caplog.text
    await keeper.save(known("a"))
    assert kept(fake) == known("a")


async def test_a_missing_config_map_is_logged_once_and_used_once_it_exists(
    fake: FakeKube, client: KubeClient, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock()
    keeper = HistoryKeeper(client, NAMESPACE, clock)
    with caplog.at_level(logging.WARNING, WARNINGS):
        assert await keeper.load() == History()
        for _ in range(2):
            clock.pass_by(PAUSE_SECONDS)
            assert await keeper.save(known("a")) == known("a")
    assert len(caplog.records) == 1
    install(fake)
    for _ in range(2):  # it is read, and then written
        clock.pass_by(PAUSE_SECONDS)
        await keeper.save(known("a"))
    assert kept(fake) == known("a")


async def test_a_server_that_fails_costs_one_minute(fake: FakeKube, client: KubeClient) -> None:
    install(fake)
    clock = FakeClock()
    keeper = HistoryKeeper(client, NAMESPACE, clock)
    await keeper.load()
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{NAME}"
    fake.faults.order("patch", path, kube_faults.SERVER_ERROR)
    assert await keeper.save(known("a")) == known("a")
    clock.pass_by(PAUSE_SECONDS)
    await keeper.save(known("a"))
    assert kept(fake) == known("a")
