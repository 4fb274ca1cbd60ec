"""How often the API server is asked what readers may see."""

import contextlib
from collections import Counter
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from extender.metrics.extender import ExtenderMetrics
from extender.servers.auth import viewers
from extender.servers.auth.viewers import Bearer, Viewers, caller_of
from shared.kube.reviews import Act, TokenVerdict, User
from tests.fakes.clock import FakeClock

KEPT_SECONDS = 30.0


@dataclass
class Server:
    """Says that the token ``x`` is that of the user ``x``, and who may see what."""

    granted: set[tuple[str, str]] = field(default_factory=set)
    asked: Counter[str] = field(default_factory=Counter)

    async def review(self, token: str) -> TokenVerdict:
        name, _, _ = token.partition("#")
        return TokenVerdict(authenticated=True, user=User(name), audiences=())

    async def access(self, user: User, act: Act) -> bool:
        self.asked[user.username] += 1
        return (user.username, act.namespace) in self.granted


@dataclass
class Library:
    server: Server
    clock: FakeClock
    viewers: Viewers

    async def looks(self, token: str, *namespaces: str) -> list[bool]:
        bearer = await self.viewers.bearer(f"Bearer {token}")
        return [await self.sees(bearer, name) for name in namespaces]

    async def sees(self, bearer: Bearer, namespace: str) -> bool:
        return await bearer.may(Act("list", "pods", namespace))


@pytest.fixture
def library() -> Library:
    server, clock = Server(), FakeClock()
    known = Viewers(server.review, server.access, None, KEPT_SECONDS, clock, ExtenderMetrics())
    return Library(server, clock, known)


def many(count: int) -> list[str]:
    return [f"team-{number}" for number in range(count)]


async def test_a_first_look_at_a_thousand_namespaces_is_answered(library: Library) -> None:
    library.server.granted.add(("ann", "team-7"))
    seen = await library.looks("ann", *many(viewers.CALLER_AT_ONCE))
    assert seen.count(True) == 1


async def test_who_watches_them_is_answered_on_and_on(library: Library) -> None:
    """What he may see is asked again every half minute, the rest every five."""
    library.server.granted |= {("ann", f"team-{number}") for number in range(100)}
    for _ in range(40):
        assert (await library.looks("ann", *many(1000))).count(True) == 100
        library.clock.pass_by(15.0)
    asked_per_second = (library.server.asked["ann"] - 1000) / 600
    assert asked_per_second < viewers.CALLER_PER_SECOND


async def test_who_asks_too_much_is_told_when_to_come_again(library: Library) -> None:
    await library.looks("ann", *many(viewers.CALLER_AT_ONCE))
    with pytest.raises(web.HTTPTooManyRequests) as caught:
        await library.looks("ann", "one-more")
    assert caught.value.headers["Retry-After"] == "1"
    assert "what ann may see" in (caught.value.text or "")
    assert "-n" in (caught.value.text or "")
    assert library.server.asked["ann"] == viewers.CALLER_AT_ONCE
    assert await library.looks("bob", "one-more") == [False]
    assert await library.looks("ann", "team-1") == [False]  # what is known costs nothing
    library.clock.pass_by(1.0)
    assert await library.looks("ann", "one-more") == [False]


async def test_new_tokens_of_one_user_are_one_caller(library: Library) -> None:
    refused = 0
    for number in range(20):
        try:
            await library.looks(f"ann#{number}", *many(100))
        except web.HTTPTooManyRequests:
            refused += 1
    assert (library.server.asked["ann"], refused) == (viewers.CALLER_AT_ONCE, 10)


async def exhaust(library: Library) -> None:
    """Have others ask for all that is for all together."""
    each = viewers.CALLER_AT_ONCE - viewers.FEW_AT_ONCE
    whole, rest = divmod(viewers.ALL_AT_ONCE, each)
    for number in range(whole):
        await library.looks(f"user-{number}", *many(viewers.CALLER_AT_ONCE))
    await library.looks("last", *many(viewers.FEW_AT_ONCE + rest))


async def test_who_asks_little_is_answered_while_others_ask_without_end(library: Library) -> None:
    """Prometheus asks once in half a minute whether it may have the metrics."""
    await exhaust(library)
    library.server.granted.add(("prometheus", "red"))
    for _ in range(3):
        library.clock.pass_by(KEPT_SECONDS)
        for number in range(15):
            with contextlib.suppress(web.HTTPTooManyRequests):
                await library.looks(f"user-{number}#{library.clock.now()}", *many(500))
        assert await library.looks("prometheus", "red") == [True]


async def test_all_callers_together_have_a_limit(library: Library) -> None:
    await exhaust(library)
    for name in many(viewers.FEW_AT_ONCE):
        assert await library.looks("ann", name) == [False]  # a few are always answered
    with pytest.raises(web.HTTPTooManyRequests, match="Too Many") as caught:
        await library.looks("ann", "red")
    assert "all callers together" in (caught.value.text or "")
    verdicts = library.viewers.metrics.access_reviews
    assert verdicts.labels(verdict="throttled")._value.get() == 1
    library.clock.pass_by(1.0)
    assert await library.looks("ann", "red") == [False]


CALLERS = {
    "ann": "ann",
    "system:serviceaccount:red:a": "system:serviceaccount:red",
    "system:serviceaccount:red:b": "system:serviceaccount:red",
    "system:node:red:a": "system:node:red:a",
}


@pytest.mark.parametrize(("name", "caller"), CALLERS.items(), ids=CALLERS)
def test_service_accounts_of_a_namespace_are_one_caller(name: str, caller: str) -> None:
    assert caller_of(User(name)) == caller


async def test_a_refusal_is_remembered_longer_than_a_right(library: Library) -> None:
    library.server.granted.add(("ann", "red"))
    await library.looks("ann", "red", "blue")
    library.clock.pass_by(KEPT_SECONDS)
    library.server.granted = {("ann", "blue")}
    assert await library.looks("ann", "red", "blue") == [False, False]
    library.clock.pass_by(KEPT_SECONDS * (viewers.DENIED_LONGER - 1))
    assert await library.looks("ann", "red", "blue") == [False, True]


async def test_who_was_given_a_right_has_it_after_ten_minutes(library: Library) -> None:
    library.viewers.kept_seconds = 300.0
    await library.looks("ann", "red")
    library.server.granted.add(("ann", "red"))
    library.clock.pass_by(viewers.DENIED_SECONDS)
    assert await library.looks("ann", "red") == [True]
