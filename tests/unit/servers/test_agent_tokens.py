"""Which tokens are accepted, and how seldom the API server is asked."""

import asyncio
import base64
import json
from collections import Counter
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from extender.metrics.extender import Reviewed
from extender.servers.agents.tokens import TokenCheck
from extender.servers.auth import tokens
from extender.servers.auth.tokens import REFUSED_SECONDS
from shared.kube import reviews
from shared.kube.errors import ApiError, ConnectionLostError, ForbiddenError, InvalidError
from shared.kube.reviews import NODE_NAME, TokenVerdict, User
from tests.fakes.clock import FakeClock

AGENT = "system:serviceaccount:shuntyard-agents:shuntyard-agent"
US = "shuntyard-extender"


def accepted(**changes) -> TokenVerdict:
    extra = changes.pop("extra", {NODE_NAME: ("node-a",)})
    user = User(changes.pop("username", AGENT), extra)
    return TokenVerdict(**{"authenticated": True, "user": user, "audiences": (US,), **changes})


@dataclass
class Reviewer:
    """Gives one verdict, as often as it is asked, when the gate is open."""

    verdict: TokenVerdict | ApiError = field(default_factory=accepted)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[str] = field(default_factory=list)
    together: int = 0
    most_together: int = 0

    async def __call__(self, token: str) -> TokenVerdict:
        self.asked.append(token)
        self.together += 1
        self.most_together = max(self.most_together, self.together)
        await self.gate.wait()
        self.together -= 1
        if isinstance(self.verdict, ApiError):
            raise self.verdict
        return self.verdict


@dataclass
class Door:
    reviewer: Reviewer
    clock: FakeClock
    check: TokenCheck
    counted: Counter[Reviewed]

    async def opens(self, token: str = "token") -> str:
        return await self.check.node_of(f"Bearer {token}")


@pytest.fixture
def door() -> Door:
    reviewer, clock, counted = Reviewer(), FakeClock(), Counter()
    reviewer.gate.set()
    check = TokenCheck(
        review=reviewer,
        audience=US,
        accounts=frozenset({AGENT}),
        kept_seconds=60.0,
        clock=clock,
        count=lambda verdict: counted.update([verdict]),
    )
    return Door(reviewer, clock, check, counted)


async def test_the_token_of_an_agents_pod_speaks_for_its_node(door: Door) -> None:
    assert await door.opens() == "node-a"
    assert door.counted == {Reviewed.ACCEPTED: 1}


WITHOUT = {
    "no header": "",
    "no token": "Bearer ",
    "another scheme": "Basic dXNlcjpwYXNz",
    "a token alone": "token",
    "a token that is no ASCII": "Bearer t\xf6ken",
    "a token that is no text": "Bearer t\udce4ken",
}


@pytest.mark.parametrize("header", WITHOUT.values(), ids=WITHOUT)
async def test_without_a_token_nobody_is_asked(door: Door, header: str) -> None:
    with pytest.raises(web.HTTPUnauthorized) as caught:
        await door.check.node_of(header)
    assert caught.value.headers["WWW-Authenticate"] == "Bearer"
    assert not door.reviewer.asked


REFUSED = {
    "not authenticated": (
        TokenVerdict(error="[invalid bearer token]"),
        401,
        "invalid bearer token",
    ),
    "of another audience": (TokenVerdict(error="[token audiences]"), 401, "token audiences"),
    "of no audience": (accepted(audiences=()), 401, "not meant for shuntyard-extender"),
    "of an audience nobody asked about": (accepted(audiences=("x",)), 401, "not meant for"),
    "unreadable for the server": (InvalidError(400, "BadRequest", "no token"), 401, "no token"),
    "of another account": (accepted(username="system:serviceaccount:a:b"), 403, "a:b is not"),
    "of a pod without a node": (accepted(extra={}), 403, "not bound to a pod on a node"),
    "of two nodes": (accepted(extra={NODE_NAME: ("a", "b")}), 403, "not bound"),
}


@pytest.mark.parametrize(("verdict", "status", "text"), REFUSED.values(), ids=REFUSED)
async def test_a_token_is_refused_that_is(door: Door, verdict, status: int, text: str) -> None:
    door.reviewer.verdict = verdict
    with pytest.raises(web.HTTPException) as caught:
        await door.opens()
    assert caught.value.status == status
    assert text in (caught.value.text or "")


async def test_a_good_verdict_is_kept_for_its_time_and_a_bad_one_for_seconds(door: Door) -> None:
    for _ in range(3):
        await door.opens("good")
    door.clock.pass_by(59.9)
    await door.opens("good")
    assert door.reviewer.asked == ["good"]
    door.clock.pass_by(0.1)
    door.reviewer.verdict = TokenVerdict(error="it is over")
    for _ in range(3):
        with pytest.raises(web.HTTPUnauthorized):
            await door.opens("good")
    assert door.reviewer.asked == ["good"] * 2
    door.clock.pass_by(REFUSED_SECONDS)
    door.reviewer.verdict = accepted()
    assert await door.opens("good") == "node-a"


def jwt(**claims: object) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"header.{body}.signature"


@pytest.mark.parametrize(
    ("token", "want"),
    [
        (jwt(exp=12.5), 12.5),
        (jwt(sub="x"), None),
        (jwt(exp="x"), None),
        ("a.!.c", None),
        ("", None),
    ],
)
def test_a_token_says_when_it_ends(token: str, want: float | None) -> None:
    assert reviews.expires_at(token) == want


async def test_a_good_verdict_is_not_kept_beyond_the_tokens_own_end(door: Door) -> None:
    token = jwt(exp=door.clock.now() + 7)
    await door.opens(token)
    door.clock.pass_by(6.9)
    await door.opens(token)
    assert len(door.reviewer.asked) == 1
    door.clock.pass_by(0.2)
    await door.opens(token)
    await door.opens(token)
    assert len(door.reviewer.asked) == 3


NO_VERDICT = {
    "the server is gone": ConnectionLostError("gone"),
    "we may not ask": ForbiddenError(403, "Forbidden", "no rights"),
}


@pytest.mark.parametrize("error", NO_VERDICT.values(), ids=NO_VERDICT)
async def test_without_a_verdict_nobody_gets_in_and_nothing_is_kept(door: Door, error) -> None:
    await door.opens("known")
    door.reviewer.verdict = error
    for _ in range(2):
        with pytest.raises(web.HTTPServiceUnavailable) as caught:
            await door.opens("new")
    assert caught.value.headers["Retry-After"] == "1"
    assert door.reviewer.asked == ["known", "new", "new"]
    assert await door.opens("known") == "node-a"


async def test_a_server_that_hangs_is_no_verdict(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "REVIEW_SECONDS", 0.01)
    door.reviewer.gate.clear()
    with pytest.raises(web.HTTPServiceUnavailable):
        await door.opens()
    assert door.counted == {Reviewed.UNAVAILABLE: 1}


async def test_many_callers_with_one_token_ask_once(door: Door) -> None:
    door.reviewer.gate.clear()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(door.opens("same")) for _ in range(50)]
        while not door.reviewer.asked:
            await asyncio.sleep(0)
        door.reviewer.gate.set()
    assert {task.result() for task in tasks} == {"node-a"}
    assert door.reviewer.asked == ["same"]


async def test_who_waits_for_anothers_review_does_not_fall_with_it(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "REVIEW_SECONDS", 0.1)
    door.reviewer.gate.clear()
    first, second, third = (asyncio.create_task(door.opens()) for _ in range(3))
    while not door.reviewer.asked:
        await asyncio.sleep(0)
    second.cancel()
    first.cancel()
    with pytest.raises(web.HTTPServiceUnavailable):
        await third
    assert (first.cancelled(), second.cancelled()) == (True, True)
    door.reviewer.gate.set()
    assert await door.opens() == "node-a"


async def test_the_server_is_asked_about_a_few_tokens_at_a_time(door: Door) -> None:
    door.reviewer.gate.clear()
    async with asyncio.TaskGroup() as group:
        for i in range(100):
            group.create_task(door.opens(f"token-{i}"))
        while len(door.reviewer.asked) < tokens.MOST_AT_ONCE:
            await asyncio.sleep(0)
        door.reviewer.gate.set()
    assert door.reviewer.most_together == tokens.MOST_AT_ONCE
    assert len(door.reviewer.asked) == 100


async def test_a_flood_waits_in_a_line_that_has_an_end(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "MOST_WAITING", 2)
    door.reviewer.gate.clear()
    async with asyncio.TaskGroup() as group:
        for token in ("one", "two"):
            group.create_task(door.opens(token))
        while len(door.reviewer.asked) < 2:
            await asyncio.sleep(0)
        with pytest.raises(web.HTTPServiceUnavailable):
            await door.opens("three")
        door.reviewer.gate.set()


async def test_bad_tokens_never_drive_good_ones_out(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    await door.opens("good")
    door.reviewer.verdict = TokenVerdict(error="bad")
    for i in range(tokens.MOST_REFUSED + 10):
        with pytest.raises(web.HTTPUnauthorized):
            await door.opens(f"bad-{i}")
    assert len(door.check.tokens._refused) == tokens.MOST_REFUSED
    assert await door.opens("good") == "node-a"


async def test_of_too_many_verdicts_the_least_used_goes(door: Door) -> None:
    door.check.tokens._accepted.most = 2
    for token in ("one", "two", "one", "three"):
        await door.opens(token)
    assert door.reviewer.asked == ["one", "two", "three"]
    await door.opens("one")
    await door.opens("two")
    assert door.reviewer.asked == ["one", "two", "three", "two"]
