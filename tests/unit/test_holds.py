"""When an answer to filter is held, and how long a growing gang is awaited."""

import asyncio
from collections.abc import Sequence

import pytest

from extender.controllers.hold import LULL_SECONDS, Growth, HoldPermit
from tests.fakes.clock import FakeClock

SOON = LULL_SECONDS / 3

GROWTHS: dict[str, tuple[Sequence[tuple[float, int]], bool]] = {
    "no member comes: not awaited": ([(SOON, 4)], False),
    "a member comes: awaited": ([(SOON, 5)], True),
    "a pause after it: awaited": ([(SOON, 5), (SOON, 5)], True),
    "a long pause after it: not any more": ([(SOON, 5), (LULL_SECONDS, 5)], False),
    "each member renews the patience": ([(SOON, 5), (SOON, 5), (SOON, 6), (2 * SOON, 6)], True),
}


@pytest.mark.parametrize(("looks", "want"), GROWTHS.values(), ids=GROWTHS)
def test_a_gang_is_awaited_while_it_grows(looks: Sequence[tuple[float, int]], want: bool) -> None:
    now, growth = 100.0, Growth(4, 100.0)
    answers = []
    for seconds, count in looks:
        now += seconds
        answers.append(growth.goes_on(count, now))
    assert answers == [*[True] * (len(looks) - 1), want]


async def test_a_pass_waits_for_the_end_of_a_hold() -> None:
    permit = HoldPermit(FakeClock(), hold_seconds=60.0, gated=False)
    await permit.answered()
    permit.begin()
    waiting = asyncio.create_task(permit.answered())
    await asyncio.sleep(0)
    assert not waiting.done()
    permit.end()
    await waiting


async def test_a_pass_does_not_wait_for_a_hold_that_hangs() -> None:
    permit = HoldPermit(FakeClock(), hold_seconds=-1.0, gated=False)
    permit.begin()
    await permit.answered()
