"""The page in Chromium: its first paint, and its frames while long lists scroll and change.

A frame is measured twice: by the clock, from one callback of the browser to the next, and as
processor time of the page's own thread, by Chromium's trace. Only the second one is the page's on a
machine that does other work, too.
"""

import json
import statistics
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from shared.page.serving import PATH

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

SCROLLED: Final = {"queue": ("#/", "tbody tr"), "map of nodes": ("#/nodes", ".tile")}
"""Views that scroll, by name: address, and what one entry of the list is."""
_CATEGORIES: Final = ("devtools.timeline", "disabled-by-default-devtools.timeline")
_PAINT: Final = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
_FRAMES: Final = """async ([pixels, seconds]) => {
  const frames = [];
  let last = await new Promise(requestAnimationFrame);
  const until = last + 1000 * seconds;
  while (last < until) {
    scrollBy(0, pixels);
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last);
    last = now;
  }
  return frames;
}"""
_PIXELS: Final = 400
"""Scrolled in each frame: by a hand it is less."""
_SCROLL_SECONDS: Final = 3.0
_WATCH_SECONDS: Final = 20.0
"""So long a view stands still while the lists change: some changes are shown meanwhile."""


@dataclass(frozen=True)
class Frames:
    """Frames of one view, in milliseconds.

    Attributes:
        clock: Median, 95th percentile and longest, by the clock.
        processor: The same as processor time of the page's thread.
    """

    clock: tuple[float, float, float]
    processor: tuple[float, float, float]


@dataclass(frozen=True)
class Painted:
    """What Chromium took to show the page.

    Attributes:
        paint_seconds: From the request to the first content.
        table_seconds: From the request to the queue's table.
        frames: By what happens meanwhile, such as ``queue scrolls``.
    """

    paint_seconds: float
    table_seconds: float
    frames: Mapping[str, Frames]


async def painted(chromium: str, url: str) -> Painted:
    """Open the page of a read API, scroll its long lists and watch them change."""
    from playwright.async_api import async_playwright  # noqa: PLC0415 - only the tests' packages

    async with async_playwright() as driver:
        # Chromium has no sandbox for root.
        browser = await driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = await browser.new_page(viewport={"width": 1280, "height": 900})
        began = time.monotonic()
        await page.goto(f"{url}{PATH}")
        await page.locator("tbody tr").nth(10).wait_for()
        table_seconds = time.monotonic() - began
        paint: Any = await page.evaluate(_PAINT)
        frames = {}
        for view, (address, entry) in SCROLLED.items():
            await page.goto(f"{url}{PATH}{address}")
            await page.locator(entry).nth(10).wait_for()
            frames[f"{view} scrolls"] = await _traced(browser, page, _PIXELS, _SCROLL_SECONDS)
            await page.evaluate("scrollTo(0, 0)")
            frames[f"{view} changes"] = await _traced(browser, page, 0, _WATCH_SECONDS)
        await browser.close()
    return Painted(paint / 1000, table_seconds, frames)


def summary(painted: Painted) -> list[str]:
    """Return the numbers as lines."""
    times = f"{painted.paint_seconds:.2f} s, the queue after {painted.table_seconds:.2f} s"
    lines = [f"first paint after {times}", "frames in ms, median / 95 % / longest:"]
    for name, frames in painted.frames.items():
        clock, processor = (" / ".join(map(str, some)) for some in (frames.clock, frames.processor))
        lines.append(f"  while the {name}: {clock} by the clock, {processor} of the processor")
    return lines


async def _traced(browser: "Browser", page: "Page", pixels: int, seconds: float) -> Frames:
    await browser.start_tracing(page=page, categories=list(_CATEGORIES))
    clock: Any = await page.evaluate(_FRAMES, [pixels, seconds])
    trace = json.loads(await browser.stop_tracing())
    return Frames(_summary(clock), _summary(list(frame_times(trace["traceEvents"]))))


def frame_times(events: Sequence[Mapping[str, Any]]) -> Iterator[float]:
    """Yield the processor time of each frame in a trace, in milliseconds.

    A frame begins with the task that runs the callbacks of the page, and ends where the next one
    begins: scripts, styles, layout and paint are in it. What other threads do, such as drawing
    pixels, is not.
    """
    callbacks = [event for event in events if event["name"] == "FireAnimationFrame"]
    threads = [(event["pid"], event["tid"]) for event in callbacks]
    if not threads:
        return
    ours = max(set(threads), key=threads.count)
    tasks = sorted(
        (event["ts"], event.get("tdur", 0) / 1000)
        for event in events
        if event["name"] == "RunTask" and (event["pid"], event["tid"]) == ours
    )
    begins = [at for at, _ in tasks]
    called = [e["ts"] for e, thread in zip(callbacks, threads, strict=True) if thread == ours]
    firsts = sorted({max(0, bisect_right(begins, at) - 1) for at in called})
    for first, following in pairwise(firsts):
        yield sum(took for _, took in tasks[first:following])


def _summary(values: Sequence[float]) -> tuple[float, float, float]:
    """Return median, 95th percentile and maximum."""
    median, late = statistics.median(values), statistics.quantiles(values, n=20)[-1]
    return round(median, 1), round(late, 1), round(max(values), 1)
