"""Hostile fields of pods: the job is refused by name, and every other job is placed."""

import json
from typing import Any

import aiohttp
import pytest

from shared import labels
from shared.kube import kept_keys, parse, paths
from tests.component.shell import MiniScheduler, extender, lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

MANY = 250_000
"""About the limit of all annotations of an object together."""
HUGE = "9" * 5000

WRITTEN: dict[str, tuple[str, str]] = {
    "a gang of more digits than an integer has": (labels.MIN_AVAILABLE, HUGE),
    "a gang of a billion": (labels.MIN_AVAILABLE, "1000000000"),
    "a gang beyond 64 bits": (labels.MIN_AVAILABLE, "9" * 30),
    "a wait of endless digits": (labels.MAX_WAIT, "1" * MANY),
    "a wait of endless parts": (labels.MAX_WAIT, "1h" * (MANY // 2)),
    "a wait beyond all numbers": (labels.MAX_WAIT, "9" * 400 + "h"),
    "a wait beyond Go's": (labels.MAX_WAIT, "9223372036854775808ns"),
    "a duration of endless digits": (labels.EXPECTED_DURATION, "." + "1" * MANY),
    "a duration beyond all numbers": (labels.EXPECTED_DURATION, "9" * 400 + "h"),
    "an affinity bomb": (labels.AFFINITY, "ps,worker;" * (MANY // 10)),
    "an affinity of many": (labels.AFFINITY, ",".join(f"r{i}" for i in range(30_000))),
    "an anti-affinity bomb": (
        labels.ANTI_AFFINITY, ";".join(f"r{i},r{i + 1}" for i in range(15_000)),
    ),
    "a range of a billion": (labels.WORKERS, "1..1000000000"),
    "a range of endless digits": (labels.WORKERS, f"1..{HUGE}"),
    "the widest range": (labels.WORKERS, "1..999999"),
    "a utility of many steps": (
        labels.UTILITY, "steps:" + ",".join(f"{i}s={99_999 - i}" for i in range(1, 20_000)),
    ),
    "a utility of endless digits": (labels.UTILITY, f"sigmoid:{HUGE},1,{HUGE}h"),
    "a training beyond all numbers": (
        labels.TRAINING, "epochs=1,chunks=1,batches=1,step=1s,gradient=1e999999999,bandwidth=1bit",
    ),
    "a training for ever": (
        labels.TRAINING, "epochs=999999999,chunks=999999999,batches=999999999,step=99999h",
    ),
    "a level with lines": (labels.REQUIRED_TOPOLOGY, 'rack\n{"level":"error"}\x1b[31m'),
    "a long level": (labels.PREFERRED_TOPOLOGY, "x" * MANY),
    "a plan of endless size": (labels.PLAN_SIZE, HUGE),
    "a reservation that is nowhere": (labels.NODE, "../../../etc/passwd\0"),
    "a CPU weight of endless digits": (labels.CPU_GIVEN, f"main={HUGE}"),
    "a checkpoint outside": (labels.CHECKPOINT, "../../other/job"),
    "a metrics bomb": (labels.METRICS, "path=a;" * (MANY // 7)),
}  # fmt: skip

ASKED: dict[str, dict[str, str]] = {
    "more than a machine can count": {"cpu": "9223372036854775807"},
    "more memory than there is": {"memory": "9223372036854775807"},
    "an amount with an exponent": {"cpu": "1e18"},
    "a resource that no node has": {"example.org/x": "9223372036854775807"},
}


def hostile(job: str, **fields: Any) -> dict[str, Any]:
    return pod(f"{job}-0", job=job, size=1, **fields)


@pytest.fixture
async def fake():
    async with FakeKube.running() as server, lease(server):
        for name in "ab":
            server.put(paths.NODES, node(name))
        yield server


async def other_jobs_are_placed(fake: FakeKube, **settings: Any) -> None:
    async with (
        extender(fake, **settings) as running,
        MiniScheduler(fake, running.scheduler_url).running(),
    ):
        for i in range(2):
            fake.put(paths.PODS, pod(f"good-{i}", job="good", size=2))
        await eventually(lambda: _is_placed(fake), 120, "others are placed")
        assert not running.task.done()


def _is_placed(fake: FakeKube) -> bool:
    """Check only these two: the fake copies every object it returns."""
    found = [fake.object(paths.PODS, f"good-{i}", "default") for i in range(2)]
    return all("nodeName" in one["spec"] for one in found)


async def test_hostile_pod_metadata_delays_no_other_pod(fake: FakeKube) -> None:
    for number, (key, text) in enumerate(WRITTEN.values()):
        _write(fake, f"bad-{number}", key, text)
    await other_jobs_are_placed(fake)


@pytest.mark.e2e  # an extender for each of them: the gate runs them all at once
@pytest.mark.parametrize(("key", "text"), WRITTEN.values(), ids=WRITTEN)
async def test_one_hostile_annotation_delays_no_other_pod(
    fake: FakeKube, key: str, text: str
) -> None:
    _write(fake, "bad", key, text)
    await other_jobs_are_placed(fake)


def _write(fake: FakeKube, job: str, key: str, text: str) -> None:
    one = hostile(job)
    one["metadata"]["annotations"][key] = text
    fake.put(paths.PODS, one)


async def test_a_refusal_is_short(fake: FakeKube) -> None:
    """With ten thousand labels; other jobs still get their own reason."""
    nowhere = {"nodeSelector": {"no": "x"}}
    bomb, good = hostile("bomb", **nowhere), hostile("good", **nowhere)
    bomb["metadata"]["labels"] |= {f"l-{i}": "x" * 40 for i in range(10_000)}
    bomb["metadata"]["annotations"][labels.MAX_WAIT] = "9" * 10_000 + "h"
    for one in (bomb, good):
        fake.put(paths.PODS, one)
    async with extender(fake) as running, aiohttp.ClientSession() as session:
        found = await eventually(lambda: _both(session, running.others[0]))
    assert (found["bomb"]["reason"], found["good"]["reason"]) == ("Misconfigured", "NoSuchNode")
    assert len(found["bomb"]["message"]) < 2000


async def _both(session: aiohttp.ClientSession, people: tuple[str, int]) -> dict[str, Any] | None:
    """Return the entries of these two in the queue, once both exist."""
    async with session.get(f"http://{people[0]}:{people[1]}/v1/queue") as response:
        entries = json.loads(await response.text()).get("entries", ())
    found = {entry["job"].rpartition("/")[2]: entry for entry in entries}
    return found if {"bomb", "good"} <= found.keys() else None


@pytest.mark.parametrize("key", [labels.UTILITY, labels.TRAINING])
async def test_hostile_utilities_and_trainings_delay_no_other_pod(fake: FakeKube, key: str) -> None:
    good = {
        labels.UTILITY: "sigmoid:100,2,4h",
        labels.TRAINING: "epochs=1,chunks=1,batches=1,step=1s",
    }
    texts = [text for name, text in WRITTEN.values() if name == key]
    for number, text in enumerate(texts):
        one = hostile(f"bad-{number}")
        one["metadata"]["annotations"] |= good | {key: text}
        fake.put(paths.PODS, one)
    await other_jobs_are_placed(fake, admission={"enabled": True})


async def test_hostile_requests_delay_no_other_pod(fake: FakeKube) -> None:
    for number in range(3 * len(ASKED)):  # three of each: together more than a sum can hold
        one = hostile(f"bad-{number}")
        requests = [*ASKED.values()][number // 3]
        one["spec"]["containers"][0]["resources"]["requests"] = requests
        fake.put(paths.PODS, one)
    await other_jobs_are_placed(fake)


def test_a_pod_of_a_hundred_thousand_labels_is_read() -> None:
    one = hostile("bad")
    one["metadata"]["labels"] = {f"l{i}": "" for i in range(100_000)}
    read = parse.decode_pod(json.dumps(one).encode())
    assert len(read.labels) == kept_keys.COMMON.labels
    assert read.excess.startswith("labels: '100000 of them' is not at most 256 labels")


async def test_a_job_whose_owner_has_a_too_long_annotation_waits_with_the_field_named(
    fake: FakeKube,
) -> None:
    """Ten times the kept length, on the pods of one job; the other is checked (defect A2)."""
    bomb = pod("bomb-0", job="bomb", size=1)
    bomb["metadata"]["labels"] |= {f"l{i}": "x" * 100 for i in range(10 * 256)}
    good = pod("good-0", job="good", size=1, nodeSelector={"disk": "none"})
    for one in (bomb, good):
        fake.put(paths.PODS, one)
    async with extender(fake) as running, aiohttp.ClientSession() as session:
        found = await eventually(lambda: _both(session, running.others[0]))
    assert found["bomb"]["reason"] == "Misconfigured"
    assert "labels: '2561 of them' is not at most 256 labels" in found["bomb"]["message"]
    assert found["good"]["reason"] != "Misconfigured"


async def test_many_labels_delay_no_other_pod(fake: FakeKube) -> None:
    one = hostile("bad")
    one["metadata"]["labels"] |= {f"l{i}": "" for i in range(20_000)}
    one["metadata"]["annotations"] |= {f"a{i}": "" for i in range(20_000)}
    fake.put(paths.PODS, one)
    await other_jobs_are_placed(fake)


async def test_hostile_namespace_annotations_delay_no_pod(fake: FakeKube) -> None:
    for number, text in enumerate((HUGE, "nan", "inf", "1e999", "-1", "\x1b[31m\n")):
        keys = (labels.USER_PRIORITY, labels.WEIGHT, labels.GUARANTEED_SHARE)
        notes = dict.fromkeys(keys, text)
        name = "default" if not number else f"team-{number}"
        fake.put(paths.NAMESPACES, {"metadata": {"name": name, "annotations": notes}})
    await other_jobs_are_placed(fake, tenancy={"fair_share": True})
