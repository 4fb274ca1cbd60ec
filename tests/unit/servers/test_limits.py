"""Open requests and shared answers of the read API are limited (defects A3, A8)."""

import pytest
from aiohttp import web

from extender.servers import caches
from extender.servers.caches import SharedAnswers
from extender.servers.readapi import limits
from extender.servers.readapi.limits import OpenRequests
from tests.fakes.clock import FakeClock

TEN_TIMES = 10


def admitted(requests: OpenRequests, callers: list[str]) -> int:
    """Return how many requests of these callers are admitted if none of them ends."""
    count = 0
    for place in [requests.admitted(caller) for caller in callers]:
        try:
            place.__enter__()
        except web.HTTPTooManyRequests:
            continue
        count += 1
    return count


CASES: dict[str, tuple[list[str], int]] = {
    "one caller has few places": (["ann"] * TEN_TIMES, 4),
    "callers without a token are one caller": ([""] * TEN_TIMES * 16, 8),
    "all together have a limit": ([f"user-{i}" for i in range(TEN_TIMES * 16)], 16),
    "others are admitted beside those without a token": ([""] * 100 + ["ann"], 9),
}


@pytest.mark.parametrize(("callers", "want"), CASES.values(), ids=CASES.keys())
def test_no_more_requests_are_admitted_than_the_limit(callers: list[str], want: int) -> None:
    assert admitted(OpenRequests(limits.MOST_LONG, limits.MOST_LONG_EACH), callers) == want


def test_a_refusal_has_retry_after() -> None:
    with pytest.raises(web.HTTPTooManyRequests) as refused, OpenRequests(0, 0).admitted("ann"):
        pass
    assert refused.value.headers["Retry-After"] == "1"


def test_a_request_that_ends_makes_room_and_leaves_no_count() -> None:
    requests = OpenRequests(1, 1)
    for number in range(TEN_TIMES):
        with requests.admitted(f"user-{number}"):
            assert requests._open.total() == 1
    assert not requests._open


async def test_an_answer_is_shared_for_a_second_and_no_longer() -> None:
    clock, computed = FakeClock(), []
    answers: SharedAnswers[bytes] = SharedAnswers(clock.monotonic)

    async def compute() -> bytes:
        computed.append(1)
        return b"%d" % len(computed)

    assert [await answers.get("a", compute) for _ in range(3)] == [b"1"] * 3
    assert await answers.get("b", compute) == b"2"
    clock.pass_by(1.0)
    assert await answers.get("a", compute) == b"3"


async def test_the_number_of_shared_answers_has_a_limit() -> None:
    answers: SharedAnswers[bytes] = SharedAnswers(FakeClock().monotonic)

    async def compute() -> bytes:
        return b""

    for number in range(TEN_TIMES * caches.MOST_KEPT):
        await answers.get(number, compute)
    assert len(answers._answers) == caches.MOST_KEPT == 32
    assert not answers._computing
