"""The page in a real browser: what a reader sees, with a keyboard, in every view and colour."""

import contextlib
import re
from collections.abc import AsyncIterator

import msgspec
import pytest
from playwright.async_api import Browser, expect

from extender.servers.readapi import deltas
from extender.servers.readapi.deltas import Listing
from shared.kube import paths
from shared.system_clock import SystemClock
from tests.browser.scene import GPU, RACKS, RUNNING, WAITING, put_parked, put_waiting, scene
from tests.browser.tab import NARROW, VIEWS, WIDE, expect_pieces, opened
from tests.component.agents import Trust, heartbeat, progress
from tests.component.shell import Extender, extender, lease
from tests.component.test_acting_at_once import leadership
from tests.fakes.answers import JOBS, NAMESPACES, NODES, QUEUE
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube
from tests.fakes.kube_tokens import ISSUER
from tests.root import ROOT

pytestmark = pytest.mark.asyncio(loop_scope="session")

PAGE = ROOT / "page"
AXE = PAGE / "node_modules" / "axe-core" / "axe.min.js"
PICTURES = ROOT / "docs" / "figures"
PICTURED = ("queue", "job", "nodes", "timeline", "trained")
USERS = [("ann", "resnet", "whisper"), ("bob", "whisper", "resnet")]
"""Each user with the job of their own namespace, and that of the other."""


async def test_a_reader_finds_why_a_job_waits_and_what_helps(
    browser: Browser, trust: Trust
) -> None:
    async with scene(trust) as cluster, opened(browser, cluster.running) as tab:
        page = tab.page
        await tab.show("queue")
        for name in (*WAITING, *RUNNING):
            await expect(page.get_by_role("link", name=name, exact=True).first).to_be_visible()
        stuck = page.get_by_role("region", name="Needs you")
        await expect(stuck.get_by_role("row")).to_have_count(3)  # and the heading
        await expect(stuck.get_by_role("row", name="typo")).to_contain_text("max-wait")
        await expect(page.get_by_role("group", name="Cluster")).to_contain_text("stranded")

        await page.get_by_role("link", name="resnet", exact=True).click()
        await expect(page).to_have_url(f"{tab.url}{VIEWS['job']}")
        matrix = page.get_by_role("group", name="Nodes and resources")
        await expect(matrix.get_by_role("row", name="gpu-3")).to_contain_text("0 of 8, in use")
        await expect(matrix.get_by_role("row", name="gpu-7")).to_contain_text("dedicated=ml")
        fixes = page.get_by_role("region", name="What would make it run")
        await expect(fixes).to_contain_text("kubectl uncordon gpu-6")


async def test_a_reader_finds_what_a_parking_cost(browser: Browser, trust: Trust) -> None:
    unsigned = {"secret": None}
    async with scene(trust, signing=unsigned) as cluster, opened(browser, cluster.running) as tab:
        put_parked(cluster.fake, "vision", "bert", starts="speech/job/tts")
        for view in ("changes", "trained"):
            await tab.show(view)
            row = tab.page.get_by_role("region", name="Parkings").get_by_role("row").nth(1)
            for text in ("Share", "tts", "Resumed", "4s", "2m", "42s"):
                await expect(row).to_contain_text(text)


async def test_a_reader_finds_that_a_training_hangs_and_on_which_node(
    browser: Browser, trust: Trust
) -> None:
    quick = {"training_faults": {"interval_seconds": 0.05}}
    pace = {"moved_at": 600.0, "gaps": 40, "usual_seconds": 4.0, "longest_seconds": 20.0}
    spins = {**progress("uid-whisper-0", pace=pace), "use": {"cpu_cores": 4.0, "idle_seconds": 0.0}}
    idles = {"uid": "uid-whisper-1", "use": {"cpu_cores": 0.0, "idle_seconds": 395.0}}
    async with scene(trust, **quick) as cluster, opened(browser, cluster.running) as tab:
        silent = heartbeat("gpu-6", 2, spins, idles, sent_at=1000.0)
        assert (await cluster.beat(silent)).status == 200
        await tab.show("queue")
        row = tab.page.get_by_role("region", name="Running").get_by_role("row", name="whisper")
        await expect(row).to_contain_text("Hangs: ")
        await expect(row).to_contain_text("pod whisper-1 on node gpu-6 has idled for")


async def test_a_copied_command_is_in_the_clipboard(browser: Browser, trust: Trust) -> None:
    async with scene(trust) as cluster, opened(browser, cluster.running) as tab:
        await tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await tab.show("job")
        await tab.page.get_by_role("button", name="Copy the command").first.click()
        copied = await tab.page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("kubectl ")


async def test_the_keyboard_reaches_the_content_and_the_filter(
    browser: Browser, trust: Trust
) -> None:
    async with scene(trust) as cluster, opened(browser, cluster.running) as tab:
        await tab.show("queue")
        await tab.page.keyboard.press("Tab")
        await tab.page.keyboard.press("Enter")
        await expect(tab.page.locator("main")).to_be_focused()
        await tab.page.get_by_label("Team").select_option("speech")
        await expect(tab.page).to_have_url(f"{tab.url}#/?namespace=speech")
        await expect(tab.page.get_by_role("link", name="resnet", exact=True)).to_have_count(0)
        await expect(tab.page.get_by_role("link", name="tts", exact=True)).to_be_visible()


async def test_the_page_is_current_without_a_reload(browser: Browser, trust: Trust) -> None:
    async with scene(trust) as cluster, opened(browser, cluster.running) as tab:
        await tab.show("queue")
        _remove(cluster.fake, "typo")
        await expect(tab.page.get_by_role("link", name="typo", exact=True)).to_have_count(0)


async def test_the_map_has_racks_and_a_square_in_the_colour_of_its_job(
    browser: Browser, trust: Trust
) -> None:
    async with scene(trust) as cluster, opened(browser, cluster.running) as tab:
        await tab.show("nodes")
        nodes = tab.page.get_by_role("list", name="8 nodes")
        for rack in RACKS:
            await expect(nodes.get_by_text(f"rack {rack}:")).to_be_visible()
        await expect(nodes.get_by_text("without a rack: 0 of 4 GPUs free")).to_be_visible()
        tile = nodes.get_by_role("listitem").filter(has_text="gpu-1").first
        colours = {
            job: await tile.locator(".job", has_text=job).locator(".key").get_attribute("class")
            for job in ("bert", "eval")
        }
        assert colours["bert"] != colours["eval"]
        for job, count in (("bert", 4), ("eval", 1)):
            colour = (colours[job] or "").removeprefix("key ")
            await expect_pieces(tile.locator(f".squares .{colour}"), count)
        await expect_pieces(tile.locator(".squares .free"), 3)
        await tile.get_by_role("link", name="bert").hover()
        await expect(nodes.locator(".tile.lit")).to_have_count(2)
        await tab.page.get_by_label("Group by").select_option("name")
        await expect(nodes.get_by_text(f"rack {RACKS[0]}:")).to_have_count(0)


async def test_faults_of_gpus_are_listed_below_the_map(browser: Browser, trust: Trust) -> None:
    async with scene(trust) as cluster, opened(browser, cluster.running) as tab:
        await tab.show("nodes")
        faults = tab.page.get_by_role("table", name="Nodes with faults of GPUs")
        await expect(faults).to_have_count(0)
        gpus = {"devices": 8, "lost": 1, "uncorrected_errors": 3}
        answer = await cluster.beat(heartbeat("gpu-2", 1, gpus=gpus))
        assert answer.status == 200, answer.text
        row = faults.get_by_role("row").filter(has_text="gpu-2")
        await expect(row).to_contain_text("1 of 8 lost, 3 uncorrected errors")


async def test_a_job_that_has_ended_is_on_no_node_of_the_map(
    browser: Browser, trust: Trust
) -> None:
    async with scene(trust) as cluster, opened(browser, cluster.running) as tab:
        await tab.show("nodes")
        whisper = tab.page.get_by_role("link", name="whisper", exact=True)
        await expect(whisper).to_be_visible()
        for pod in cluster.fake.objects(paths.PODS):
            if pod["metadata"]["name"].startswith("whisper-"):
                ended = {**pod["status"], "phase": "Succeeded"}
                cluster.fake.put(paths.PODS, {**pod, "status": ended})
        await expect(whisper).to_have_count(0)


@pytest.mark.parametrize(("user", "sees", "hidden"), USERS)
async def test_where_a_token_is_needed_the_page_shows_what_its_bearer_may_see(
    browser: Browser, user: str, sees: str, hidden: str
) -> None:
    async with closed_cluster() as (fake, running):
        token = fake.tokens.mint(user, [ISSUER])
        async with opened(browser, running, expects=["401", "403"]) as tab:
            await tab.page.goto(tab.url)
            await tab.page.get_by_label("Token").fill(token)
            await tab.page.get_by_role("button", name="Use").click()
            await expect(tab.page.get_by_role("link", name=sees, exact=True)).to_be_visible()
            await expect(tab.page.get_by_role("link", name=hidden, exact=True)).to_have_count(0)
            await expect(tab.page.get_by_label("Token")).to_have_count(0)
            assert (
                await tab.page.evaluate("Object.keys({...localStorage, ...sessionStorage})") == []
            )


@contextlib.asynccontextmanager
async def closed_cluster() -> AsyncIterator[tuple[FakeKube, Extender]]:
    """Run an extender that shows nothing without a token; a job waits in each of two namespaces."""
    async with FakeKube.running() as fake, lease(fake):
        for user, job, _ in USERS:
            fake.put(paths.NAMESPACES, {"metadata": {"name": f"of-{user}"}})
            fake.access.grant(user, "list", "pods", f"of-{user}")
            put_waiting(fake, f"of-{user}", job, pods=2, requests={"cpu": "1", GPU: "1"})
        async with extender(fake, api={"listen_port": 0, "without_token": "health"}) as running:
            await eventually(leadership(running).acting)  # until then the stream is refused
            yield fake, running


LOOKS = {"light and wide": ("light", WIDE), "dark and narrow": ("dark", NARROW)}


@pytest.mark.parametrize(("scheme", "size"), LOOKS.values(), ids=LOOKS)
async def test_no_view_has_a_serious_fault_of_accessibility(
    browser: Browser, trust: Trust, scheme: str, size: dict[str, int]
) -> None:
    if not AXE.exists():
        pytest.skip("axe is not installed: npm ci in page/")
    look = {"color_scheme": scheme, "viewport": size, "bypass_csp": True}
    expects = ["404"]  # the extender has no doctor
    async with (
        scene(trust) as cluster,
        opened(browser, cluster.running, expects=expects, **look) as tab,
    ):
        await tab.page.add_init_script(path=AXE)
        for view in VIEWS:
            await tab.show(view)
            found = await tab.page.evaluate("axe.run()")
            serious = [
                one for one in found["violations"] if one["impact"] in {"serious", "critical"}
            ]
            assert [(one["id"], one["nodes"][0]["html"]) for one in serious] == [], view
            overflow = "document.documentElement.scrollWidth - innerWidth"
            assert await tab.page.evaluate(overflow) <= 0, view


@pytest.mark.parametrize("view", PICTURED)
async def test_the_pictures_of_the_documentation_are_there(
    browser: Browser, trust: Trust, view: str, update_golden: bool
) -> None:
    """With ``--update-golden`` they are made again; their times differ each time."""
    picture = PICTURES / f"page-{view}.png"
    if update_golden:
        async with scene(trust) as cluster, opened(browser, cluster.running) as tab:
            await tab.show(view)
            await expect(tab.page.get_by_role("group", name="Cluster")).to_contain_text("stranded")
            await tab.page.screenshot(path=picture)
    assert 10_000 < picture.stat().st_size < 200_000


MANY = 2000


def _streamed(count: int) -> str:
    """The stream of a cluster with many waiting jobs and nodes."""
    at = SystemClock().now()
    entry = msgspec.to_builtins(QUEUE.entries[0])
    waiting = {
        f"team/job/job-{i}": {**entry, "namespace": "team", "kind": "job", "job": f"job-{i}"}
        | {"position": i + 1}
        for i in range(count)
    }
    node = msgspec.to_builtins(NODES.entries[0])
    nodes = {f"node-{i:04}": {**node, "name": f"node-{i:04}"} for i in range(count)}
    bodies = {"queue": (QUEUE, waiting), "jobs": (JOBS, {}), "nodes": (NODES, nodes)}
    frames = []
    for name, (body, entries) in {**bodies, "namespaces": (NAMESPACES, {})}.items():
        fields = msgspec.to_builtins(body) | {"generated_at": at}
        head = {key: value for key, value in fields.items() if key != "entries"}
        whole = deltas.whole(Listing(name, head, entries))
        frames += [f"data: {frame.decode()}\n\n" for frame in whole]
    return "".join(frames)


async def test_of_a_long_list_only_the_rows_in_sight_are_in_the_document(
    browser: Browser, trust: Trust
) -> None:
    async with scene(trust) as cluster, opened(browser, cluster.running) as tab:
        page = tab.page
        body = _streamed(MANY)
        await page.route(
            "**/v1/updates*",
            lambda route: route.fulfill(body=body, content_type="text/event-stream"),
        )
        await page.goto(tab.url)
        table = page.get_by_role("table", name="Waiting jobs in the order")
        await expect(table).to_have_attribute("aria-rowcount", str(MANY + 1))
        await expect(page.get_by_role("link", name="job-0", exact=True)).to_be_visible()
        assert await table.get_by_role("row").count() < 200
        await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        await expect(page.get_by_role("link", name=f"job-{MANY - 1}", exact=True)).to_be_visible()
        assert await table.get_by_role("row").count() < 200
        await page.goto(f"{tab.url}{VIEWS['nodes']}")
        nodes = page.get_by_role("list", name=f"{MANY:,} nodes")
        await expect(nodes.get_by_text("node-0000", exact=True)).to_be_visible()
        assert await nodes.get_by_role("listitem").count() < 400


async def test_without_a_stream_the_page_polls(browser: Browser, trust: Trust) -> None:
    expects = ["503"]
    async with scene(trust) as cluster, opened(browser, cluster.running, expects=expects) as tab:
        await tab.page.route("**/v1/updates*", lambda route: route.fulfill(status=503, body="no"))
        await tab.show("queue")
        await expect(tab.page.get_by_role("link", name="typo", exact=True)).to_be_visible()
        _remove(cluster.fake, "typo")
        await expect(tab.page.get_by_role("link", name="typo", exact=True)).to_have_count(0)


async def test_the_stream_alone_keeps_the_page_current(browser: Browser, trust: Trust) -> None:
    expects = ["503"]
    async with scene(trust) as cluster, opened(browser, cluster.running, expects=expects) as tab:
        lists = re.compile(r"/v1/(queue|jobs|nodes|namespaces)")
        await tab.page.route(lists, lambda route: route.fulfill(status=503, body="no"))
        await tab.show("queue")
        await expect(tab.page.get_by_role("link", name="typo", exact=True)).to_be_visible()
        _remove(cluster.fake, "typo")
        await expect(tab.page.get_by_role("link", name="typo", exact=True)).to_have_count(0)


def _remove(fake: FakeKube, job: str) -> None:
    for found in fake.objects(paths.PODS):
        if found["metadata"]["name"].startswith(f"{job}-"):
            fake.remove(paths.PODS, found["metadata"]["name"], found["metadata"]["namespace"])
