"""Tokens of agents: which are accepted, and how often the API server reviews them."""

import asyncio
import base64
import json
from collections import Counter
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from extender.metrics.extender import Reviewed
from extender.servers.agents.tokens import AgentTokens
from extender.servers.auth import tokens
from extender.servers.auth.tokens import REFUSED_SECONDS
from shared.kube import reviews
from shared.kube.errors import ApiError, ConnectionLostError, ForbiddenError, InvalidError
from shared.kube.reviews import NODE_NAME, TokenVerdict, User
from tests.fakes.clock import FakeClock

AGENT = "system:serviceaccount:shuntyard-agents:shuntyard-agent"
AUDIENCE = "shuntyard-extender"


def accepted(**changes) -> TokenVerdict:
    extra = changes.pop("extra", {NODE_NAME: ("node-a",)})
    user = User(changes.pop("username", AGENT), extra)
    return TokenVerdict(
        **{"authenticated": True, "user": user, "audiences": (AUDIENCE,), **changes}
    )


@dataclass
class Reviewer:
    """Gives the same verdict on every token, once the gate is open."""

    verdict: TokenVerdict | ApiError = field(default_factory=accepted)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    reviewed: list[str] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def __call__(self, token: str) -> TokenVerdict:
        self.reviewed.append(token)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await self.gate.wait()
        self.at_once -= 1
        if isinstance(self.verdict, ApiError):
            raise self.verdict
        return self.verdict


@dataclass
class Listener:
    reviewer: Reviewer
    clock: FakeClock
    check: AgentTokens
    counted: Counter[Reviewed]

    async def node_of(self, token: str = "token") -> str:
        return await self.check.node_of(f"Bearer {token}")


@pytest.fixture
def listener() -> Listener:
    reviewer, clock, counted = Reviewer(), FakeClock(), Counter()
    reviewer.gate.set()
    check = AgentTokens(
        review=reviewer,
        audience=AUDIENCE,
        accounts=frozenset({AGENT}),
        kept_seconds=60.0,
        clock=clock,
        count=lambda verdict: counted.update([verdict]),
    )
    return Listener(reviewer, clock, check, counted)


async def test_the_token_of_an_agents_pod_stands_for_its_node(listener: Listener) -> None:
    assert await listener.node_of() == "node-a"
    assert listener.counted == {Reviewed.ACCEPTED: 1}


WITHOUT = {
    "no header": "",
    "no token": "Bearer ",
    "another scheme": "Basic dXNlcjpwYXNz",
    "a token alone": "token",
    "a token that is no ASCII": "Bearer t\xf6ken",
    "a token that is no text": "Bearer t\udce4ken",
}


@pytest.mark.parametrize("header", WITHOUT.values(), ids=WITHOUT)
async def test_a_request_without_a_token_needs_no_review(listener: Listener, header: str) -> None:
    with pytest.raises(web.HTTPUnauthorized) as caught:
        await listener.check.node_of(header)
    assert caught.value.headers["WWW-Authenticate"] == "Bearer"
    assert not listener.reviewer.reviewed


REFUSED = {
    "not authenticated": (
        TokenVerdict(error="[invalid bearer token]"),
        401,
        "invalid bearer token",
    ),
    "of another audience": (TokenVerdict(error="[token audiences]"), 401, "token audiences"),
    "of no audience": (accepted(audiences=()), 401, "not meant for shuntyard-extender"),
    "of another audience only": (accepted(audiences=("x",)), 401, "not meant for"),
    "unreadable for the server": (InvalidError(400, "BadRequest", "no token"), 401, "no token"),
    "of another account": (accepted(username="system:serviceaccount:a:b"), 403, "a:b is not"),
    "of a pod without a node": (accepted(extra={}), 403, "not bound to a pod on a node"),
    "of two nodes": (accepted(extra={NODE_NAME: ("a", "b")}), 403, "not bound"),
}


@pytest.mark.parametrize(("verdict", "status", "text"), REFUSED.values(), ids=REFUSED)
async def test_a_token_is_refused(listener: Listener, verdict, status: int, text: str) -> None:
    listener.reviewer.verdict = verdict
    with pytest.raises(web.HTTPException) as caught:
        await listener.node_of()
    assert caught.value.status == status
    assert text in (caught.value.text or "")


async def test_an_accepted_token_is_cached_for_a_minute_and_a_rejected_one_for_seconds(
    listener: Listener,
) -> None:
    for _ in range(3):
        await listener.node_of("good")
    listener.clock.pass_by(59.9)
    await listener.node_of("good")
    assert listener.reviewer.reviewed == ["good"]
    listener.clock.pass_by(0.1)
    listener.reviewer.verdict = TokenVerdict(error="it is over")
    for _ in range(3):
        with pytest.raises(web.HTTPUnauthorized):
            await listener.node_of("good")
    assert listener.reviewer.reviewed == ["good"] * 2
    listener.clock.pass_by(REFUSED_SECONDS)
    listener.reviewer.verdict = accepted()
    assert await listener.node_of("good") == "node-a"


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
def test_the_end_of_a_token_is_read_from_its_claims(token: str, want: float | None) -> None:
    assert reviews.expires_at(token) == want


async def test_an_accepted_token_is_not_cached_beyond_its_own_end(listener: Listener) -> None:
    token = jwt(exp=listener.clock.now() + 7)
    await listener.node_of(token)
    listener.clock.pass_by(6.9)
    await listener.node_of(token)
    assert len(listener.reviewer.reviewed) == 1
    listener.clock.pass_by(0.2)
    await listener.node_of(token)
    await listener.node_of(token)
    assert len(listener.reviewer.reviewed) == 3


NO_VERDICT = {
    "the server is gone": ConnectionLostError("gone"),
    "we may not review tokens": ForbiddenError(403, "Forbidden", "no rights"),
}


@pytest.mark.parametrize("error", NO_VERDICT.values(), ids=NO_VERDICT)
async def test_without_a_verdict_no_token_is_accepted_and_nothing_is_cached(
    listener: Listener, error
) -> None:
    await listener.node_of("known")
    listener.reviewer.verdict = error
    for _ in range(2):
        with pytest.raises(web.HTTPServiceUnavailable) as caught:
            await listener.node_of("new")
    assert caught.value.headers["Retry-After"] == "1"
    assert listener.reviewer.reviewed == ["known", "new", "new"]
    assert await listener.node_of("known") == "node-a"


async def test_a_server_that_hangs_is_no_verdict(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "REVIEW_SECONDS", 0.01)
    listener.reviewer.gate.clear()
    with pytest.raises(web.HTTPServiceUnavailable):
        await listener.node_of()
    assert listener.counted == {Reviewed.UNAVAILABLE: 1}


async def test_many_callers_with_one_token_need_one_review(listener: Listener) -> None:
    listener.reviewer.gate.clear()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(listener.node_of("same")) for _ in range(50)]
        while not listener.reviewer.reviewed:
            await asyncio.sleep(0)
        listener.reviewer.gate.set()
    assert {task.result() for task in tasks} == {"node-a"}
    assert listener.reviewer.reviewed == ["same"]


async def test_a_caller_that_waits_for_a_review_survives_its_cancellation(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "REVIEW_SECONDS", 0.1)
    listener.reviewer.gate.clear()
    first, second, third = (asyncio.create_task(listener.node_of()) for _ in range(3))
    while not listener.reviewer.reviewed:
        await asyncio.sleep(0)
    second.cancel()
    first.cancel()
    with pytest.raises(web.HTTPServiceUnavailable):
        await third
    assert (first.cancelled(), second.cancelled()) == (True, True)
    listener.reviewer.gate.set()
    assert await listener.node_of() == "node-a"


async def test_a_few_tokens_are_reviewed_at_a_time(listener: Listener) -> None:
    listener.reviewer.gate.clear()
    async with asyncio.TaskGroup() as group:
        for i in range(100):
            group.create_task(listener.node_of(f"token-{i}"))
        while len(listener.reviewer.reviewed) < tokens.MOST_AT_ONCE:
            await asyncio.sleep(0)
        listener.reviewer.gate.set()
    assert listener.reviewer.most_at_once == tokens.MOST_AT_ONCE
    assert len(listener.reviewer.reviewed) == 100


async def test_the_number_of_tokens_that_wait_for_a_review_has_a_limit(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "MOST_WAITING", 2)
    listener.reviewer.gate.clear()
    async with asyncio.TaskGroup() as group:
        for token in ("one", "two"):
            group.create_task(listener.node_of(token))
        while len(listener.reviewer.reviewed) < 2:
            await asyncio.sleep(0)
        with pytest.raises(web.HTTPServiceUnavailable):
            await listener.node_of("three")
        listener.reviewer.gate.set()


async def test_rejected_tokens_never_displace_accepted_ones(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    await listener.node_of("good")
    listener.reviewer.verdict = TokenVerdict(error="bad")
    for i in range(tokens.MOST_REFUSED + 10):
        with pytest.raises(web.HTTPUnauthorized):
            await listener.node_of(f"bad-{i}")
    assert len(listener.check.tokens._refused) == tokens.MOST_REFUSED
    assert await listener.node_of("good") == "node-a"


async def test_the_least_recently_used_token_leaves_a_full_cache(listener: Listener) -> None:
    listener.check.tokens._accepted.capacity = 2
    for token in ("one", "two", "one", "three"):
        await listener.node_of(token)
    assert listener.reviewer.reviewed == ["one", "two", "three"]
    await listener.node_of("one")
    await listener.node_of("two")
    assert listener.reviewer.reviewed == ["one", "two", "three", "two"]


async def test_a_caller_that_goes_away_fails_no_other_with_the_same_token(
    listener: Listener,
) -> None:
    """The next caller's review begins anew."""
    listener.reviewer.gate.clear()
    first = asyncio.create_task(listener.node_of("t"))
    while len(listener.reviewer.reviewed) < 1:
        await asyncio.sleep(0)
    second = asyncio.create_task(listener.node_of("t"))
    await asyncio.sleep(0)
    first.cancel()
    while len(listener.reviewer.reviewed) < 2:
        await asyncio.sleep(0)
    listener.reviewer.gate.set()
    assert await second == "node-a"
