"""What-if and doctor in a real browser, on the extender and through ``shuntyard ui``."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from aiohttp import web
from playwright.async_api import Browser, Page, expect

from cli.client import ByUrl
from cli.connection import AnyApiServer
from cli.doctor import findings
from cli.doctor.findings import Finding
from cli.ui import server as ui
from cli.ui.guard import Guard
from shared import labels
from tests.browser.scene import GPU, URGENT, scene
from tests.browser.tab import Tab, expect_pieces, opened, opened_at
from tests.browser.test_page import PICTURES
from tests.component.agents import Trust, Yard
from tests.fakes.kube_tokens import ISSUER

pytestmark = pytest.mark.asyncio(loop_scope="session")

FINDINGS: Final = (
    findings.ok("versions", "Kubernetes 1.36.3, Shuntyard 0.1.0"),
    findings.ok("rights", "the extender has all rights of deploy/base"),
    findings.warning("our-keys", "no admission policy", "apply deploy/base/our-keys.yaml"),
    findings.fault("agents", "the agent of gpu-6 is silent for 5 min", "kubectl logs <agent>"),
)
MANIFEST: Final[dict[str, Any]] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "next", "namespace": "vision"},
    "spec": {
        "parallelism": 3,
        "template": {
            "metadata": {"annotations": {labels.EXPECTED_DURATION: "1h"}},
            "spec": {
                "containers": [{"name": "main", "resources": {"limits": {"cpu": "2", GPU: "1"}}}]
            },
        },
    },
}


URGENTLY: Final = deepcopy(MANIFEST)
URGENTLY["spec"]["parallelism"] = 10
URGENTLY["spec"]["template"]["spec"]["priorityClassName"] = URGENT
"""The same with more pods than fit, ahead of all waiting jobs."""


class WithCluster(ByUrl):
    """A way that knows an API server, as one with a kubeconfig does."""

    api_server: AnyApiServer | None = None


def _examine(_server: AnyApiServer) -> list[Finding]:
    return list(FINDINGS)


@contextlib.asynccontextmanager
async def opened_by_ui(
    browser: Browser, cluster: Yard, directory: Path, *, has_cluster: bool = False
) -> AsyncIterator[Tab]:
    """Open the page of ``shuntyard ui``, whose user may see everything."""
    host, port = cluster.running.others[0]
    cluster.fake.access.grant("ann", "list", "pods", "")
    cluster.fake.access.grant("ann", "list", "nodes", "")
    token = directory / "token"
    await asyncio.to_thread(token.write_text, cluster.fake.tokens.mint("ann", [ISSUER]))
    way = WithCluster(f"http://{host}:{port}", token_file=token)
    way.api_server = object() if has_cluster else None  # type: ignore[assignment] - never asked
    listener = socket.create_server(("127.0.0.1", 0))
    guard = Guard(listener.getsockname()[1])
    runner = web.AppRunner(ui.create_app(way, guard, _examine))
    await runner.setup()
    await web.SockSite(runner, listener).start()
    try:
        expects = ["404"]  # it has no stream: the page polls
        async with opened_at(browser, f"{guard.origin}/ui/", expects=expects) as tab:
            await tab.page.goto(guard.link)
            await expect(tab.page.get_by_role("navigation", name="Views")).to_be_visible()
            yield tab
    finally:
        await runner.cleanup()


async def ask(page: Page, text: str = "") -> None:
    if text:
        team = page.get_by_label("Team").last
        await expect(team).not_to_have_value("default")  # until then the lists write it anew
        await page.get_by_label("Manifest").fill(text)
    await page.get_by_role("button", name="What if?").click()


async def test_a_pasted_job_that_fits_is_drawn_on_its_nodes(
    browser: Browser, trust: Trust, tmp_path: Path
) -> None:
    async with scene(trust) as cluster, opened_by_ui(browser, cluster, tmp_path) as tab:
        page = tab.page
        await tab.show("what-if")
        await ask(page, yaml.safe_dump(MANIFEST))
        await expect(page.get_by_role("heading", name="next would start now")).to_be_visible()
        nodes = page.get_by_role("region", name="Its nodes")
        await expect_pieces(nodes.locator(".squares .planned"), 3)
        await expect(page.get_by_text("asked by --url, without a kubeconfig")).to_be_visible()
        others = page.get_by_role("region", name="Other waiting jobs")
        await expect(others).to_be_visible()


async def test_a_job_that_waits_shows_its_start_the_delayed_jobs_and_what_helps(
    browser: Browser, trust: Trust, tmp_path: Path
) -> None:
    async with scene(trust) as cluster, opened_by_ui(browser, cluster, tmp_path) as tab:
        page = tab.page
        await tab.show("what-if")
        await ask(page, yaml.safe_dump(URGENTLY))
        await expect(page.get_by_role("heading", name="next would start in")).to_be_visible()
        times = page.get_by_role("region", name="In time")
        await expect(times.locator(".gantt .supposed")).to_have_count(1)
        await expect(times.locator(".gantt .delay")).to_have_count(1)
        others = page.get_by_role("table", name="Jobs that would start later")
        await expect(others.get_by_role("row", name="resnet")).to_contain_text("later")
        await expect(page.get_by_role("region", name="What would make it run")).to_be_visible()
        await expect(page.get_by_role("group", name="Nodes and resources")).to_be_visible()
        await page.get_by_role("link", name="Queue", exact=True).click()
        await page.get_by_role("link", name="What if", exact=True).click()
        await expect(page.get_by_role("heading", name="next would start in")).to_be_visible()


async def test_the_fields_make_a_manifest(browser: Browser, trust: Trust, tmp_path: Path) -> None:
    async with scene(trust) as cluster, opened_by_ui(browser, cluster, tmp_path) as tab:
        page = tab.page
        await tab.show("what-if")
        await page.get_by_label("Pods").fill("3")
        await page.get_by_label("GPUs of each").fill("2")
        await page.get_by_label("Team").last.fill("vision")
        await ask(page)
        await expect(page.get_by_role("heading", name="new-job would start now")).to_be_visible()
        nodes = page.get_by_role("region", name="Its nodes")
        await expect_pieces(nodes.locator(".squares .planned"), 6)


REFUSED: Final = {
    "it is not YAML": ("kind: [", "the manifest is not YAML"),
    "it is no object": ("just words", "objects with a kind"),
    "it is of no kind that is understood": ("kind: Service\nmetadata: {name: a}", "Service"),
    "the job is there": (
        yaml.safe_dump({**MANIFEST, "metadata": {"name": "resnet", "namespace": "vision"}}),
        "explain",
    ),
}


@pytest.mark.parametrize(("text", "says"), REFUSED.values(), ids=REFUSED)
async def test_a_manifest_that_cannot_be_used_is_refused_in_words(
    browser: Browser, trust: Trust, tmp_path: Path, text: str, says: str
) -> None:
    async with scene(trust) as cluster, opened_by_ui(browser, cluster, tmp_path) as tab:
        tab.expects += ["502"]
        await tab.show("what-if")
        await ask(tab.page, text)
        await expect(tab.page.get_by_role("alert")).to_contain_text(says)


async def test_at_the_extender_what_if_wants_a_token(browser: Browser, trust: Trust) -> None:
    async with (
        scene(trust) as cluster,
        opened(browser, cluster.running, expects=["401", "404"]) as tab,
    ):
        page = tab.page
        cluster.fake.access.grant("ann", "list", "pods", "")
        cluster.fake.access.grant("ann", "list", "nodes", "")
        await tab.show("what-if")
        await ask(page, yaml.safe_dump(MANIFEST))
        await page.get_by_label("Token").fill(cluster.fake.tokens.mint("ann", [ISSUER]))
        await page.get_by_role("button", name="Use").click()
        await ask(page)
        await expect(page.get_by_role("heading", name="next would start now")).to_be_visible()
        await expect(page.get_by_label("Token")).to_have_count(0)
        await tab.show("doctor")
        await expect(page.get_by_text("need your own rights")).to_be_visible()


async def test_doctor_shows_what_the_command_finds(
    browser: Browser, trust: Trust, tmp_path: Path
) -> None:
    async with (
        scene(trust) as cluster,
        opened_by_ui(browser, cluster, tmp_path, has_cluster=True) as tab,
    ):
        await tab.show("doctor")
        rows = tab.page.get_by_role("table", name="Checks of the installation").get_by_role("row")
        await expect(rows).to_have_count(len(FINDINGS) + 1)
        await expect(rows.filter(has_text="agents")).to_contain_text("kubectl logs <agent>")
        await tab.page.get_by_role("button", name="Check again").click()
        await expect(rows).to_have_count(len(FINDINGS) + 1)


async def _pictured(tab: Tab, view: str) -> None:
    await tab.show(view)
    if view == "what-if":
        await ask(tab.page, yaml.safe_dump(URGENTLY))
        await expect(tab.page.get_by_role("region", name="In time")).to_be_visible()
        return
    await expect(tab.page.get_by_role("button", name="Check again")).to_be_enabled()


PICTURED: Final[Sequence[str]] = ("what-if", "doctor")


@pytest.mark.parametrize("view", PICTURED)
async def test_the_pictures_of_the_documentation_are_there(
    browser: Browser, trust: Trust, tmp_path: Path, view: str, update_golden: bool
) -> None:
    """With ``--update-golden`` they are made again; their times differ each time."""
    picture = PICTURES / f"page-{view}.png"
    if update_golden:
        async with (
            scene(trust) as cluster,
            opened_by_ui(browser, cluster, tmp_path, has_cluster=view == "doctor") as tab,
        ):
            await _pictured(tab, view)
            await tab.page.screenshot(path=picture, full_page=view == "what-if")
    assert 10_000 < picture.stat().st_size < 300_000
