import asyncio

from devcluster.process_node.ending import Ending, first_of


class SteppedClock:
    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


async def test_a_deadline_only_comes_nearer() -> None:
    ending = Ending(SteppedClock())
    ending.request(30.0)
    ending.request(5.0)
    ending.request(60.0)
    assert ending.remaining_seconds == 5.0


async def test_waiting_for_the_deadline_notices_that_it_came_nearer() -> None:
    ending = Ending(SteppedClock())
    ending.request(3600.0)
    waiting = asyncio.create_task(ending.deadline())
    await asyncio.sleep(0)
    ending.request(0.0)
    await asyncio.wait_for(waiting, 60.0)


async def test_a_pause_ends_with_the_request() -> None:
    ending = Ending(SteppedClock())
    assert not await ending.pause(0.001)
    ending.request(1.0)
    assert await ending.pause(3600.0)


async def test_the_first_that_is_done_cancels_the_others() -> None:
    never = asyncio.Event()
    await first_of(asyncio.sleep(0), never.wait())
