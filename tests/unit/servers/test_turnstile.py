"""How many questions may be open, and how much work may wait for a thread (defects A3, A8)."""

import asyncio
import threading

import pytest
from aiohttp import web

from extender.servers.auth.remembered import Remembered
from extender.servers.auth.tokens import Tokens, Verdict
from extender.servers.readapi import limits, threads
from extender.servers.readapi.errors import GivenUpError
from extender.servers.readapi.limits import Gate
from extender.servers.readapi.shared_answers import Lately
from extender.servers.readapi.threads import Permit, Threads
from shared.kube.reviews import TokenVerdict
from tests.fakes.clock import FakeClock
from tests.fakes.eventually import eventually

TEN_TIMES = 10


def let_in(gate: Gate, callers: list[str]) -> int:
    """How many of these are let in, if none of them leaves."""
    held = [gate.passing(caller) for caller in callers]
    count = 0
    for one in held:
        try:
            one.__enter__()
        except web.HTTPTooManyRequests:
            continue
        count += 1
    return count


CASES: dict[str, tuple[list[str], int]] = {
    "one caller has few places": (["ann"] * TEN_TIMES, 4),
    "callers without a token are one caller": ([""] * TEN_TIMES * 16, 8),
    "all together have a limit": ([f"user-{i}" for i in range(TEN_TIMES * 16)], 16),
    "others come in beside those without a token": ([""] * 100 + ["ann"], 9),
}


@pytest.mark.parametrize(("callers", "want"), CASES.values(), ids=CASES.keys())
def test_a_gate_lets_in_no_more_than_it_has_places_for(callers: list[str], want: int) -> None:
    assert let_in(Gate(limits.MOST_LONG, limits.MOST_LONG_EACH), callers) == want


def test_who_is_turned_away_is_told_when_to_come_again() -> None:
    with pytest.raises(web.HTTPTooManyRequests) as refused, Gate(0, 0).passing("ann"):
        pass
    assert refused.value.headers["Retry-After"] == "1"


def test_who_leaves_makes_room_and_is_forgotten() -> None:
    gate = Gate(1, 1)
    for number in range(TEN_TIMES):
        with gate.passing(f"user-{number}"):
            assert gate._open.total() == 1
    assert not gate._open


async def test_beyond_what_may_wait_callers_are_told_to_come_again() -> None:
    pool, go_on = Threads("test", most_waiting=2), threading.Event()
    try:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(pool.run(lambda: go_on.wait(60))) for _ in range(3)]
            await eventually(lambda: len(pool._inside) == 3)
            for _ in range(TEN_TIMES):
                with pytest.raises(web.HTTPTooManyRequests):
                    await pool.run(lambda: None)
            go_on.set()
        assert all(one.result() for one in asked)
    finally:
        go_on.set()
        pool.close()


async def test_work_that_nobody_waits_for_is_not_begun() -> None:
    pool, go_on, begun = Threads("test"), threading.Event(), []
    first = asyncio.create_task(pool.run(lambda: go_on.wait(60)))
    await eventually(lambda: len(pool._inside) == 1)
    second = asyncio.create_task(pool.run(lambda: begun.append(1)))
    await eventually(lambda: len(pool._inside) == 2)
    second.cancel()
    await eventually(lambda: len(pool._inside) == 1)
    go_on.set()
    await first
    assert await pool.run(lambda: begun) == []
    pool.close()


def test_a_permit_counts_from_where_the_work_begins() -> None:
    clock = FakeClock()
    permit = Permit(20.0, clock.monotonic)
    clock.pass_by(100.0)
    permit.check()
    permit.begin()
    clock.pass_by(19.0)
    permit.check()
    clock.pass_by(1.0)
    with pytest.raises(GivenUpError, match="time"):
        permit.check()


def test_an_answer_is_given_up_before_another_replica_stops_waiting() -> None:
    from extender.servers.readapi.forwarding import _TIMEOUT  # noqa: PLC0415 - what it is compared with

    assert _TIMEOUT.total is not None
    assert _TIMEOUT.total > threads.ANSWER_SECONDS


async def test_what_was_told_is_told_again_for_a_moment_and_no_longer() -> None:
    clock, made = FakeClock(), []
    lately: Lately[bytes] = Lately(clock.monotonic)

    async def make() -> bytes:
        made.append(1)
        return b"%d" % len(made)

    assert [await lately.of("a", make) for _ in range(3)] == [b"1"] * 3
    assert await lately.of("b", make) == b"2"
    clock.pass_by(1.0)
    assert await lately.of("a", make) == b"3"


async def test_what_is_remembered_of_questions_has_a_limit() -> None:
    lately: Lately[bytes] = Lately(FakeClock().monotonic)

    async def make() -> bytes:
        return b""

    for number in range(TEN_TIMES * 32):
        await lately.of(number, make)
    assert len(lately._told) == 32
    assert not lately._making
    assert isinstance(lately._told, Remembered)


async def test_who_goes_away_in_the_middle_fails_nobody_who_shows_the_same_token() -> None:
    """A caller who is gone is cancelled; the next one asks the API server anew."""
    asked, go_on = [], asyncio.Event()

    async def review(token: str) -> TokenVerdict:
        asked.append(token)
        await go_on.wait()
        return TokenVerdict(authenticated=True)

    known: Tokens[str] = Tokens(
        review, lambda _: Verdict("ann"), 10, 60.0, FakeClock(), lambda _: None
    )
    first = asyncio.create_task(known.bearer("Bearer t"))
    await eventually(lambda: len(asked) == 1)
    second = asyncio.create_task(known.bearer("Bearer t"))
    await asyncio.sleep(0)
    first.cancel()
    await eventually(lambda: len(asked) == 2)
    go_on.set()
    assert (await second)[0] == "ann"
