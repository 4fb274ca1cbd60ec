"""A parked job has no pods and may be in no queue; the page shows it all the same."""

import pytest
from playwright.async_api import Browser, expect

from extender.core.records.parking import Phase
from shared.kube import paths
from tests.browser.tab import opened
from tests.component.parking_yard import JOB, park, put_job, reached, trains, yard
from tests.component.shell import lease, node
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_job_that_its_user_parked_is_listed_with_what_resumes_it(browser: Browser) -> None:
    async with FakeKube.running() as fake, lease(fake):
        fake.put(paths.NODES, node("a"))
        put_job(fake, 2)
        async with yard(fake) as (training, running):
            await trains(training, count=2)
            park(fake)
            await reached(fake, Phase.PARKED)
            async with opened(browser, running) as tab:
                await tab.show("queue")
                parked = tab.page.get_by_role("region", name="Parked")
                resume = f"shuntyard resume {JOB} -n default"
                await expect(parked).to_contain_text(resume)
                await parked.get_by_role("link", name=JOB, exact=True).click()
                why = tab.page.get_by_role("region", name="Why it waits")
                await expect(why).to_contain_text(resume)
