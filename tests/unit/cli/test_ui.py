"""``shuntyard ui``: the page is there for the browser that opened the link, and for no other."""

import asyncio
import json
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from cli import api_server, manifest
from cli.__main__ import main
from cli.client import ByUrl
from cli.doctor import findings
from cli.ui import questions, server
from cli.ui.guard import Guard
from shared.kube.auth import Credentials
from shared.page import serving as page
from shared.readapi import api
from shared.system_clock import SystemClock
from tests.unit.cli.conftest import ApiServer, ReadApi, serving

STATIC = Path(page.__file__).parent / "static"
FOREIGN = {
    "another name of the host": {"Host": "localhost:{port}"},
    "a name that was rebound": {"Host": "evil.example:{port}"},
    "another port": {"Host": "127.0.0.1:1"},
    "another origin": {"Origin": "http://127.0.0.1:1"},
    "a page without an origin": {"Origin": "null"},
    "a page of another site": {"Sec-Fetch-Site": "cross-site"},
    "a page of another port": {"Sec-Fetch-Site": "same-site"},
}


@dataclass
class Ui:
    """The local server and a browser's session."""

    guard: Guard
    browser: aiohttp.ClientSession
    read_api: ReadApi

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        shown = {name: text.format(port=self.guard.port) for name, text in headers.items()}
        async with self.browser.get(f"{self.guard.origin}{path}", headers=shown) as response:
            return response.status, await response.text()

    async def open(self) -> tuple[int, str]:
        return await self.get(self.guard.link.removeprefix(self.guard.origin))


@pytest.fixture
async def ui(read_api: ReadApi) -> AsyncIterator[Ui]:
    listener = socket.create_server(("127.0.0.1", 0))
    guard = Guard(listener.getsockname()[1], "/?namespace=a&b")
    runner = web.AppRunner(server.create_app(ByUrl(read_api.url), guard, lambda _: []))
    await runner.setup()
    await web.SockSite(runner, listener).start()
    jar = aiohttp.CookieJar(unsafe=True)  # it keeps cookies of addresses, too
    async with aiohttp.ClientSession(cookie_jar=jar) as browser:
        yield Ui(guard, browser, read_api)
    await runner.cleanup()


async def test_the_link_leads_to_the_page_and_its_data(ui: Ui) -> None:
    status, text = await ui.open()
    assert (status, "url=/ui/#/?namespace=a&amp;b" in text) == (200, True)
    assert await ui.get("/ui/") == (200, (STATIC / "index.html").read_text())
    assert (await ui.get("/v1/queue?limit=5&unknown=1"))[0] == 200
    assert ui.read_api.asked == ["/v1/queue?limit=5"]


async def test_the_link_works_once(ui: Ui) -> None:
    assert (await ui.open())[0] == 200
    status, text = await ui.open()
    assert (status, "was used already" in text) == (403, True)


async def test_a_wrong_link_does_not_use_up_the_right_one(ui: Ui) -> None:
    assert (await ui.get("/open?secret=guess"))[0] == 403
    assert (await ui.get("/open"))[0] == 403
    assert (await ui.open())[0] == 200


@pytest.mark.parametrize("path", ["/ui/", "/ui/page.js", "/v1/queue", "/v1/none", "/"])
async def test_without_the_link_nothing_is_shown(ui: Ui, path: str) -> None:
    assert (await ui.get(path))[0] == 403
    assert ui.read_api.asked == []


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
async def test_requests_from_elsewhere_are_refused_with_the_cookie(
    ui: Ui, headers: dict[str, str]
) -> None:
    await ui.open()
    assert (await ui.get("/v1/queue", **headers))[0] == 403
    assert ui.read_api.asked == []


@pytest.mark.parametrize("name", ["Host", "Origin"])
async def test_the_link_too_is_for_our_host_alone(ui: Ui, name: str) -> None:
    elsewhere = {name: "http://evil.example" if name == "Origin" else "evil.example"}
    link = ui.guard.link.removeprefix(ui.guard.origin)
    assert (await ui.get(link, **elsewhere))[0] == 403


async def test_scripts_and_other_sites_cannot_have_the_cookie(ui: Ui) -> None:
    async with ui.browser.get(ui.guard.link) as response:
        flags = response.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Strict"} <= set(flags.split("; "))


async def test_every_answer_forbids_what_is_not_ours(ui: Ui) -> None:
    for path in ("/v1/queue", "/ui/", "/ui/page.js", "/nothing"):
        async with ui.browser.get(f"{ui.guard.origin}{path}") as response:
            policy = response.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy


@pytest.mark.parametrize("name", ["what-if", "../metrics", "queue/x", ""])
async def test_only_reads_are_passed_on(ui: Ui, name: str) -> None:
    await ui.open()
    assert (await ui.get(f"/v1/{name}"))[0] == 404
    async with ui.browser.post(f"{ui.guard.origin}/v1/queue", data=b"{}") as response:
        assert response.status == 405
    assert ui.read_api.asked == []


async def test_what_if_is_passed_on_without_the_content_of_secrets_and_says_what_is_unchecked(
    ui: Ui,
) -> None:
    await ui.open()
    secret = {"kind": "Secret", "metadata": {"name": "s"}, "data": {"key": "c2VjcmV0"}}
    body = {"kind": "List", "items": [{"kind": "Job", "metadata": {"name": "mine"}}, secret]}
    url = f"{ui.guard.origin}/v1/what-if?namespace=team-a"
    async with ui.browser.post(url, json=body) as response:
        answer = await response.json()
    assert ui.read_api.asked == ["/v1/what-if?namespace=team-a"]
    assert b"c2VjcmV0" not in ui.read_api.bodies[0]
    assert answer["checked"] == {
        "by_api_server": False,
        "reason": manifest.BY_URL,
        "pods_by_api_server": False,
    }


@pytest.mark.parametrize("opened", [False, True], ids=["without the link", "from elsewhere"])
async def test_what_if_is_for_the_browser_of_the_link_alone(ui: Ui, opened: bool) -> None:
    if opened:
        await ui.open()
    headers = {"Origin": "http://evil.example"} if opened else {}
    url = f"{ui.guard.origin}/v1/what-if"
    async with ui.browser.post(url, data=b"{}", headers=headers) as response:
        assert response.status == 403
    assert ui.read_api.asked == []


async def test_a_manifest_that_is_no_json_is_named(ui: Ui) -> None:
    await ui.open()
    async with ui.browser.post(f"{ui.guard.origin}/v1/what-if", data=b"kind: Job") as response:
        assert (response.status, "is not JSON" in await response.text()) == (502, True)
    assert ui.read_api.asked == []


async def test_without_a_kubeconfig_there_is_no_doctor(ui: Ui) -> None:
    await ui.open()
    status, text = await ui.get("/v1/doctor")
    assert (status, "leave --url out" in text) == (404, True)


async def test_doctor_reports_the_findings_without_control_characters(read_api: ReadApi) -> None:
    server = api_server.ApiServer(Credentials(read_api.url))
    found = [findings.fault("agents", "no agent\x1b[2J", "start one")]
    report = json.loads(questions.report(server, lambda _: found, SystemClock()))
    (entry,) = report["entries"]
    assert (entry["check"], entry["level"], entry["fix"]) == ("agents", "fault", "start one")
    assert "\x1b" not in entry["message"]
    assert report["apiVersion"] == api.API_VERSION


async def test_a_refusal_is_shown_in_words(ui: Ui) -> None:
    ui.read_api.answers["/v1/explain"] = (404, b"pod or job a/x not found\x1b[2J")
    await ui.open()
    status, text = await ui.get("/v1/explain?namespace=a&name=x")
    assert (status, "a/x not found" in text, "\x1b" in text) == (502, True, False)


async def test_a_parameter_cannot_become_another_argument(ui: Ui) -> None:
    await ui.open()
    assert (await ui.get("/v1/queue?question=x&path=/metrics&self=1"))[0] == 200
    assert ui.read_api.asked == ["/v1/queue"]


def test_without_an_answer_no_server_is_started(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(ReadApi()) as gone:
        url = gone.url
    assert main(["ui", "--no-browser", "--url", url]) == 1
    assert "is the extender running?" in capsys.readouterr().err


def test_a_taken_port_is_named(read_api: ReadApi, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["ui", "--no-browser", "--port", port]) == 1
    assert f"--port {port}: Address already in use" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--port", "0"], ["--port", "x"], ["--watch"]])
def test_unusable_options_are_errors(options: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["ui", *options])
    assert caught.value.code == 2


async def test_the_command_prints_the_link_and_reads_with_the_kubeconfig(
    api_server: ApiServer,
) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cli", "ui", "--no-browser", "-n", "team-a"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    link = re.fullmatch(r"Open ((http://127\.0\.0\.1:\d+)/open\?secret=\S+)\n", line)
    assert link
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        async with browser.get(link[1]) as response:
            assert "namespace=team-a" in await response.text()
        async with browser.get(f"{link[2]}/v1/nodes") as response:
            assert response.status == 200
    process.send_signal(signal.SIGINT)
    await process.communicate()
    assert process.returncode == 0
    assert api_server.known.subjects == ["ann", "ann"]
