"""Hostile heartbeats: reports about other nodes' pods and impossible numbers are refused."""

import asyncio
import gzip
import io
import json
from typing import Any

import pytest

from shared.kube import paths
from tests.component.agents import Trust, Yard, heartbeat, member, progress, yard
from tests.fakes.eventually import eventually


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return Trust.create(tmp_path_factory.mktemp("pki"))


@pytest.fixture
async def lent(trust: Trust):
    async with yard(trust, agents={"most_body_bytes": 2**20}) as found:
        yield found


async def others_are_served(lent: Yard) -> None:
    assert (await lent.beat(heartbeat("b", 1, boot="of-b"))).status == 200
    assert await lent.agent("b") is not None


FORGED: dict[str, tuple[dict[str, Any], int, str]] = {
    "of another audience": ({"audiences": ["https://kubernetes.default.svc"]}, 401, "audience"),
    "that has ended": ({"seconds": -60}, 401, "expired"),
    "of a trainer": ({"user": "system:serviceaccount:team:default"}, 403, "not an agent's account"),
    "of an agent's account and no pod": ({"extra": {}}, 403, "not bound to a pod"),
    "of another node": ({"at": "b"}, 403, "of a pod on b, not on a"),
}


@pytest.mark.parametrize(("token", "status", "text"), FORGED.values(), ids=FORGED)
async def test_a_heartbeat_with_an_invalid_token_is_refused(
    lent: Yard, token: dict[str, Any], status: int, text: str
) -> None:
    answer = await lent.beat(heartbeat("a"), lent.token(**token))
    assert (answer.status, text in answer.text) == (status, True), answer
    assert await lent.agent("a") is None
    await others_are_served(lent)


async def test_no_agent_reports_pods_of_another_node(lent: Yard) -> None:
    lent.fake.put(paths.PODS, member("theirs", "b"))
    (uid,) = [one["metadata"]["uid"] for one in lent.fake.objects(paths.PODS)]

    async def refused() -> bool:
        answer = await lent.beat(heartbeat("a", 1, progress(uid)))
        return answer.status == 403 and answer.text == "pods.0.uid: that pod is on another node"

    await eventually(refused)
    await others_are_served(lent)


NUMBERS: dict[str, tuple[str, str]] = {
    "NaN": ('"sent_at": NaN', "sent_at"),
    "infinite": ('"sent_at": Infinity', "sent_at"),
    "too large for a float": ('"sent_at": 1e999', "sent_at"),
    "negative": ('"sent_at": -1', "sent_at"),
    "negative cores": ('"cpu_cores": -3', "cpu_cores"),
    "beyond 64 bits": ('"sequence": 1' + "0" * 30, "sequence"),
    "of endless digits": ('"sequence": ' + "9" * 5000, "body"),
    "a ratio above one": ('"use": {"throttled_ratio": 2}', "use.throttled_ratio"),
    "a fraction of a pod": ('"dropped": 0.5', "dropped"),
}


@pytest.mark.parametrize(("text", "field"), NUMBERS.values(), ids=NUMBERS)
async def test_an_invalid_number_is_named(lent: Yard, text: str, field: str) -> None:
    plain = json.dumps({k: v for k, v in heartbeat("a").items() if f'"{k}"' not in text})
    body = f"{plain[:-1]}, {text}}}"
    answer = await lent.call("POST", "/v1/heartbeats", lent.token(), data=body)
    assert answer.status == 400, answer
    assert answer.text.startswith(f"{field}: "), answer.text[:200]
    assert len(answer.text) < 500
    assert await lent.agent("a") is None
    await others_are_served(lent)


ABSURD: dict[str, dict[str, Any]] = {
    "from the end of time": {"sent_at": 1e308},
    "from before all time": {"sent_at": 0},
    "of a node of endless cores": {"cpu_cores": 1e308},
    "of a training that never ends": {
        "pods": [
            progress(
                "u",
                value=1e308,
                first_value=-1e308,
                growth=1e308,
                step=2**63 - 1,
                total_steps=2**63 - 1,
                updated_at=1e308,
                curve=[1e308, -1e308] * 16,
                remaining_seconds={"value": 1e308, "low": -1e308, "high": 1e308},
            )
        ]
    },
}


@pytest.mark.parametrize("fields", ABSURD.values(), ids=ABSURD)
async def test_an_impossible_measurement_harms_no_other_pod(
    lent: Yard, fields: dict[str, Any]
) -> None:
    lent.fake.put(paths.PODS, member("train-0", uid="u"))
    for sequence in (1, 2):
        assert (await lent.beat({**heartbeat("a", sequence), **fields})).status == 200
    for path in ("/v1/nodes", "/v1/jobs", "/v1/queue", "/v1/migrations", "/metrics"):
        host, port = lent.running.others[0]
        async with lent.session.get(f"http://{host}:{port}{path}") as response:
            assert response.status == 200, path
    await others_are_served(lent)
    assert not lent.running.task.done()


async def test_metrics_of_any_name_make_no_series(lent: Yard) -> None:
    """Names, sources and problems are texts of users: none of them is a label."""

    async def series() -> set[str]:
        host, port = lent.running.others[0]
        async with lent.session.get(f"http://{host}:{port}/metrics") as response:
            lines = (await response.text()).splitlines()
        return {line.rpartition(" ")[0] for line in lines if not line.startswith("#")}

    assert (await lent.beat(heartbeat("a", 1, progress("u")))).status == 200
    before = await series()
    for sequence in range(2, 30):
        bombs = [
            {**progress(f"u{i}", metric=f"bomb-{i}", source=f"bomb-{i}"), "problem": f"bomb-{i}"}
            for i in range(20 * sequence, 20 * sequence + 20)
        ]
        assert (await lent.beat(heartbeat("a", sequence, *bombs))).status == 200
    after = await series()
    assert [one for one in after if "bomb" in one] == []
    assert len(after) < len(before) + 50  # some are counted for the first time


DEEP = 100_000
BODIES: dict[str, tuple[bytes, dict[str, str], int]] = {
    "a hundred thousand lists": (b"[" * DEEP + b"]" * DEEP, {}, 400),
    "a hundred thousand objects": (b'{"a":' * DEEP + b"1" + b"}" * DEEP, {}, 400),
    "a bomb": (gzip.compress(b" " * 2**26), {"Content-Encoding": "gzip"}, 413),
    "a bomb in a bomb": (
        gzip.compress(gzip.compress(b" " * 2**26)), {"Content-Encoding": "gzip"}, 400,
    ),
    "packed twice": (gzip.compress(b"{}"), {"Content-Encoding": "gzip, gzip"}, 415),
    "more than it may be": (b" " * (2**20 + 1), {}, 413),
    "no text": (bytes(range(256)) * 16, {}, 400),
    "a number of a million digits": (b'{"node": ' + b"9" * 900_000 + b"}", {}, 400),
}  # fmt: skip


@pytest.mark.parametrize(("body", "headers", "status"), BODIES.values(), ids=BODIES)
async def test_a_body_is_refused_if_it_is(
    lent: Yard, body: bytes, headers: dict[str, str], status: int
) -> None:
    answer = await lent.call(
        "POST", "/v1/heartbeats", lent.token(), data=io.BytesIO(body), headers=headers
    )
    assert answer.status == status, answer.text[:300]
    assert len(answer.text) < 500
    await others_are_served(lent)


async def test_an_endless_body_in_pieces_is_cut(lent: Yard) -> None:
    sent = 0

    async def endless():
        nonlocal sent
        while sent < 2**24:
            sent += 2**16
            yield b" " * 2**16
            await asyncio.sleep(0)

    answer = await lent.call("POST", "/v1/heartbeats", lent.token(), data=endless())
    assert answer.status == 413
    await others_are_served(lent)


async def test_a_token_is_checked_before_a_body_is_read(lent: Yard) -> None:
    answer = await lent.call("POST", "/v1/heartbeats", "forged", data=io.BytesIO(b" " * 2**23))
    assert answer.status == 401
    assert lent.fake.tokens.reviews == 1


async def test_a_report_over_the_limit_is_refused(lent: Yard) -> None:
    answer = await lent.beat(heartbeat("a", 1, *(progress(f"uid-{i}") for i in range(6000))))
    assert answer.status in {400, 413}
    assert len(answer.text) < 4000
    await others_are_served(lent)


EVIL = 'a\nb\r{"level": "error"}\x1b[31m'


async def test_a_name_with_line_ends_and_terminal_codes_comes_back_as_a_text(lent: Yard) -> None:
    answer = await lent.beat(heartbeat("a", 1, progress("uid-x", metric=EVIL)))
    assert answer.status in {200, 400}
    assert "\n{" not in answer.text
    host, port = lent.running.others[0]
    async with lent.session.get(f"http://{host}:{port}/metrics") as response:
        assert "level" not in await response.text()
    async with lent.session.get(f"http://{host}:{port}/v1/jobs") as response:
        json.loads(await response.text())
