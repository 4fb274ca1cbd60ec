"""Access reviews of viewers: how many there are, how long they are cached, how they are limited."""

import contextlib
from collections import Counter
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from extender.metrics.extender import ExtenderMetrics
from extender.servers.auth import viewers
from extender.servers.auth.viewers import Bearer, RateLimit, Viewers, caller_of
from shared.kube.reviews import Act, TokenVerdict, User
from tests.fakes.clock import FakeClock

KEPT_SECONDS = 30.0


@dataclass
class Server:
    """An API server for which the token ``x`` or ``x#…`` is that of the user ``x``."""

    granted: set[tuple[str, str]] = field(default_factory=set)
    reviews: Counter[str] = field(default_factory=Counter)

    async def review(self, token: str) -> TokenVerdict:
        name, _, _ = token.partition("#")
        return TokenVerdict(authenticated=True, user=User(name), audiences=())

    async def access(self, user: User, act: Act) -> bool:
        self.reviews[user.username] += 1
        return (user.username, act.namespace) in self.granted


@dataclass
class Site:
    server: Server
    clock: FakeClock
    viewers: Viewers

    async def sees(self, token: str, *namespaces: str) -> list[bool]:
        bearer = await self.viewers.authenticate(f"Bearer {token}")
        return [await self.may_list(bearer, name) for name in namespaces]

    async def may_list(self, bearer: Bearer, namespace: str) -> bool:
        return await bearer.may(Act("list", "pods", namespace))


@pytest.fixture
def site() -> Site:
    server, clock = Server(), FakeClock()
    known = Viewers(
        review=server.review,
        access=server.access,
        audience=None,
        kept_seconds=KEPT_SECONDS,
        clock=clock,
        metrics=ExtenderMetrics(),
    )
    return Site(server, clock, known)


def many(count: int) -> list[str]:
    return [f"team-{number}" for number in range(count)]


async def test_the_first_list_of_a_thousand_namespaces_is_answered(site: Site) -> None:
    site.server.granted.add(("ann", "team-7"))
    visible = await site.sees("ann", *many(viewers.CALLER_AT_ONCE))
    assert visible.count(True) == 1


async def test_a_caller_that_watches_them_is_always_answered(site: Site) -> None:
    """Permissions are reviewed again every half minute, denials every five minutes."""
    site.server.granted |= {("ann", f"team-{number}") for number in range(100)}
    for _ in range(40):
        assert (await site.sees("ann", *many(1000))).count(True) == 100
        site.clock.pass_by(15.0)
    reviews_per_second = (site.server.reviews["ann"] - 1000) / 600
    assert reviews_per_second < viewers.CALLER_PER_SECOND


async def test_a_caller_with_too_many_reviews_gets_429_with_retry_after(site: Site) -> None:
    await site.sees("ann", *many(viewers.CALLER_AT_ONCE))
    with pytest.raises(web.HTTPTooManyRequests) as caught:
        await site.sees("ann", "one-more")
    assert caught.value.headers["Retry-After"] == "1"
    assert "too many access reviews were needed for ann;" in (caught.value.text or "")
    assert "-n" in (caught.value.text or "")
    assert site.server.reviews["ann"] == viewers.CALLER_AT_ONCE
    assert await site.sees("bob", "one-more") == [False]
    assert await site.sees("ann", "team-1") == [False]  # it is cached
    site.clock.pass_by(1.0)
    assert await site.sees("ann", "one-more") == [False]


async def test_new_tokens_of_one_user_are_one_caller(site: Site) -> None:
    refused = 0
    for number in range(20):
        try:
            await site.sees(f"ann#{number}", *many(100))
        except web.HTTPTooManyRequests:
            refused += 1
    assert (site.server.reviews["ann"], refused) == (viewers.CALLER_AT_ONCE, 10)


async def exhaust(site: Site) -> None:
    """Use up the limit of all callers together."""
    each = viewers.CALLER_AT_ONCE - viewers.FEW_AT_ONCE
    whole, rest = divmod(viewers.ALL_AT_ONCE, each)
    for number in range(whole):
        await site.sees(f"user-{number}", *many(viewers.CALLER_AT_ONCE))
    await site.sees("last", *many(viewers.FEW_AT_ONCE + rest))


async def test_a_caller_with_few_reviews_is_answered_while_others_use_up_the_limit(
    site: Site,
) -> None:
    """Prometheus needs one review in half a minute."""
    await exhaust(site)
    site.server.granted.add(("prometheus", "red"))
    for _ in range(3):
        site.clock.pass_by(KEPT_SECONDS)
        for number in range(15):
            with contextlib.suppress(web.HTTPTooManyRequests):
                await site.sees(f"user-{number}#{site.clock.now()}", *many(500))
        assert await site.sees("prometheus", "red") == [True]


async def test_all_callers_together_have_a_limit(site: Site) -> None:
    await exhaust(site)
    for name in many(viewers.FEW_AT_ONCE):
        assert await site.sees("ann", name) == [False]  # a few are always answered
    with pytest.raises(web.HTTPTooManyRequests, match="Too Many") as caught:
        await site.sees("ann", "red")
    assert "all callers together" in (caught.value.text or "")
    verdicts = site.viewers.metrics.access_reviews
    assert verdicts.labels(verdict="throttled")._value.get() == 1
    site.clock.pass_by(1.0)
    assert await site.sees("ann", "red") == [False]


CALLERS = {
    "ann": "ann",
    "system:serviceaccount:red:a": "system:serviceaccount:red",
    "system:serviceaccount:red:b": "system:serviceaccount:red",
    "system:node:red:a": "system:node:red:a",
}


@pytest.mark.parametrize(("name", "caller"), CALLERS.items(), ids=CALLERS)
def test_service_accounts_of_a_namespace_are_one_caller(name: str, caller: str) -> None:
    assert caller_of(User(name)) == caller


async def test_a_denial_is_cached_longer_than_a_permission(site: Site) -> None:
    site.server.granted.add(("ann", "red"))
    await site.sees("ann", "red", "blue")
    site.clock.pass_by(KEPT_SECONDS)
    site.server.granted = {("ann", "blue")}
    assert await site.sees("ann", "red", "blue") == [False, False]
    site.clock.pass_by(KEPT_SECONDS * (viewers.DENIED_LONGER - 1))
    assert await site.sees("ann", "red", "blue") == [False, True]


async def test_a_new_permission_counts_after_ten_minutes_at_most(site: Site) -> None:
    site.viewers.kept_seconds = 300.0
    await site.sees("ann", "red")
    site.server.granted.add(("ann", "red"))
    site.clock.pass_by(viewers.DENIED_SECONDS)
    assert await site.sees("ann", "red") == [True]


pauses = st.lists(st.floats(0.0, 3.0), min_size=1, max_size=60)


@given(pauses, st.integers(1, 8), st.floats(0.2, 20.0))
def test_no_span_of_time_has_more_requests_than_the_bucket_and_its_refill(
    pauses: list[float], at_once: int, per_second: float
) -> None:
    limit, now, times = RateLimit[str](at_once, per_second), 0.0, list[float]()
    for pause in pauses:
        now += pause
        if limit.wait_seconds("a", now) == 0.0:
            limit.spend("a", now)
            times.append(now)
    for first, begin in enumerate(times):
        for last, end in enumerate(times[first:], start=first):
            assert last - first + 1 <= at_once + per_second * (end - begin + 1e-6 * at_once)


@given(st.integers(1, 8), st.floats(0.2, 20.0), st.floats(0.0, 100.0))
def test_after_the_wait_a_request_is_allowed_and_no_caller_pays_for_another(
    at_once: int, per_second: float, now: float
) -> None:
    limit = RateLimit[str](at_once, per_second)
    for _ in range(at_once):
        assert limit.wait_seconds("a", now) == 0.0
        limit.spend("a", now)
    wait_seconds = limit.wait_seconds("a", now)
    assert wait_seconds == pytest.approx(1 / per_second, abs=1e-5)
    assert limit.wait_seconds("a", now + wait_seconds + 1e-6) == 0.0
    assert limit.wait_seconds("b", now) == 0.0
