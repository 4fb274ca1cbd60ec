"""Work waits for a thread within a limit, ends when no caller waits, and pauses between turns."""

import asyncio
import threading
import time

import pytest
from aiohttp import web

from extender.servers import threads
from extender.servers.threads import CancellationToken, DutyCycle, Threads, WorkCancelledError
from tests.fakes.clock import FakeClock
from tests.fakes.eventually import eventually

TEN_TIMES = 10
BUSY_SECONDS = 0.05


async def test_callers_beyond_those_that_may_wait_get_429() -> None:
    pool, go_on = Threads("test", most_waiting=2), threading.Event()
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(pool.run(lambda: go_on.wait(60))) for _ in range(3)]
            await eventually(lambda: len(pool._inside) == 3)
            for _ in range(TEN_TIMES):
                with pytest.raises(web.HTTPTooManyRequests):
                    await pool.run(lambda: None)
            go_on.set()
        assert all(task.result() for task in tasks)
    finally:
        go_on.set()
        pool.close()


async def test_work_without_a_waiting_caller_is_not_begun() -> None:
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


def test_the_time_of_work_counts_from_its_start() -> None:
    clock = FakeClock()
    token = CancellationToken(20.0, clock.monotonic)
    clock.pass_by(100.0)
    token.check()
    token.start()
    clock.pass_by(19.0)
    token.check()
    clock.pass_by(1.0)
    with pytest.raises(WorkCancelledError, match="time"):
        token.check()


def test_an_answer_is_cancelled_before_another_replica_stops_waiting() -> None:
    from extender.servers.readapi.forwarding import _TIMEOUT  # noqa: PLC0415 - what it is compared with

    assert _TIMEOUT.total is not None
    assert _TIMEOUT.total > threads.ANSWER_SECONDS


async def test_the_pause_before_a_turn_is_as_long_as_the_turn_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, cycle, pauses = FakeClock(), DutyCycle(), []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        clock.pass_by(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    async with cycle.turn(clock):
        clock.pass_by(4.0)
    clock.pass_by(1.0)
    async with cycle.turn(clock):
        clock.pass_by(2.0)
    clock.pass_by(60.0)
    async with cycle.turn(clock):
        pass
    assert pauses == [0.0, 3.0, 0.0]


async def test_a_turn_that_fails_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, cycle, pauses = FakeClock(), DutyCycle(), []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)

    async def fail() -> None:
        async with cycle.turn(clock):
            clock.pass_by(4.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    async with cycle.turn(clock):
        pass
    assert pauses == [0.0, 4.0]


async def test_only_the_work_of_a_task_counts_as_what_it_spends() -> None:
    pool, other = Threads("test"), Threads("other")

    def busy() -> None:
        until = time.thread_time() + BUSY_SECONDS
        while time.thread_time() < until:
            pass

    async with asyncio.TaskGroup() as group:
        group.create_task(other.run(busy))
        with threads.spending() as nothing:
            await pool.run(lambda: time.sleep(BUSY_SECONDS))
        with threads.spending() as something:
            await pool.run(busy)
            await asyncio.create_task(pool.run(busy))
    assert nothing.seconds < BUSY_SECONDS / 2
    assert 2 * BUSY_SECONDS <= something.seconds < 4 * BUSY_SECONDS
    pool.close()
    other.close()
