"""A tab of the browser: the views of the page, and what went wrong in it."""

import contextlib
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field
from typing import Any, Final

from playwright.async_api import Browser, Locator, Page, expect

from shared.page import serving
from tests.component.shell import Extender
from tests.fakes.eventually import eventually

WIDE: Final = {"width": 1280, "height": 900}
NARROW: Final = {"width": 400, "height": 900}
VIEWS: Final = {
    "queue": "#/",
    "job": "#/job/vision/job/resnet",
    "running": "#/running",
    "trained": "#/job/vision/job/bert",
    "timeline": "#/timeline",
    "nodes": "#/nodes",
    "changes": "#/changes",
    "teams": "#/teams",
    "what-if": "#/what-if",
    "doctor": "#/doctor",
}


@dataclass
class Tab:
    """A tab of the browser at the extender's own page, and what went wrong in it."""

    page: Page
    url: str
    expects: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    async def show(self, view: str) -> None:
        await self.page.goto(f"{self.url}{VIEWS[view]}")
        await expect(self.page.locator("main h2").first).to_be_visible()


async def expect_pieces(squares: Locator, count: int) -> None:
    """Wait until some squares of the map are so many; one path draws all that are alike."""

    async def are_there() -> bool:
        drawn = await squares.evaluate_all("all => all.map((one) => one.dataset.pieces)")
        return sum(map(int, drawn)) == count

    await eventually(are_there)


@contextlib.asynccontextmanager
async def opened(
    browser: Browser, running: Extender, *, expects: Collection[str] = (), **context: Any
) -> AsyncIterator[Tab]:
    """Open a tab; it fails at its end if the console had an error that was not expected."""
    host, port = running.others[0]
    address = f"http://{host}:{port}{serving.PATH}"
    async with opened_at(browser, address, expects=expects, **context) as tab:
        yield tab


@contextlib.asynccontextmanager
async def opened_at(
    browser: Browser, url: str, *, expects: Collection[str] = (), **context: Any
) -> AsyncIterator[Tab]:
    """Open a tab at any server's page; otherwise as ``opened``."""
    page = await browser.new_page(**{"viewport": WIDE, "locale": "en-GB", **context})
    tab = Tab(page, url, list(expects))
    page.on("console", lambda one: tab.problems.append(one.text) if one.type == "error" else None)
    page.on("pageerror", lambda error: tab.problems.append(str(error)))
    try:
        yield tab
    finally:
        await page.close()
    found = [one for one in tab.problems if not any(text in one for text in tab.expects)]
    assert not found, found
