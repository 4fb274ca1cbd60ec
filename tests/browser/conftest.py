"""A headless Chromium, and the certificates of a cluster."""

import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from tests.component.agents import Trust

PATIENCE_MILLISECONDS = 30_000
"""How long an expectation of the page may take to come true: Playwright's five seconds are too few
where every core is busy."""
expect.set_options(timeout=PATIENCE_MILLISECONDS)


@pytest.fixture(scope="session")
def chromium() -> str:
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("chromium is not installed (Debian's package chromium)")
    return found


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    """One for all tests, which share its loop; each has a context of its own."""
    async with async_playwright() as driver:
        # Chromium has no sandbox for root, which tests often are.
        browser = await driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return Trust.create(tmp_path_factory.mktemp("pki"))
