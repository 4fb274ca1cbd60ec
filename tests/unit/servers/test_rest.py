"""Who asks for long work again and again waits as long as it took."""

import asyncio

import pytest

from extender.servers.readapi.rest import Rest
from tests.fakes.clock import FakeClock


async def test_before_a_turn_is_a_pause_as_long_as_the_one_before_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, rest, pauses = FakeClock(), Rest(), []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        clock.pass_by(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    async with rest.turn(clock):
        clock.pass_by(4.0)
    clock.pass_by(1.0)
    async with rest.turn(clock):
        clock.pass_by(2.0)
    clock.pass_by(60.0)
    async with rest.turn(clock):
        pass
    assert pauses == [0.0, 3.0, 0.0]


async def test_a_turn_that_fails_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, rest, pauses = FakeClock(), Rest(), []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)

    async def fail() -> None:
        async with rest.turn(clock):
            clock.pass_by(4.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    async with rest.turn(clock):
        pass
    assert pauses == [0.0, 4.0]
