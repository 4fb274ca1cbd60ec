"""Two users of different namespaces on each way: each sees the own jobs, and others as numbers.

A client certificate is on the way through the real API server:
tests/controlplane/rights/test_users_of_one_namespace.py.
"""

import asyncio
import contextlib
import json
import re
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from cli.api_server import ApiServer
from cli.by_service import ByService
from cli.client import ByUrl, Way
from cli.service import DEFAULT_SERVICE, parse
from cli.ui import server as ui
from cli.ui.guard import Guard
from shared.kube import auth
from shared.kube.client import KubeClient
from shared.readapi.answer import VIEWERS_ACCOUNT
from tests.component.test_reading_rights import OWNER, ReadApi, read_api

SYSTEM: Final = "shuntyard-system"
TEAMS: Final = {OWNER: ("red", "blue"), "blue-owner": ("blue", "red")}
"""Each user with the own namespace, and that of the other."""
TOKEN_PATH: Final = re.compile(r"/api/v1/namespaces/([\w-]+)/serviceaccounts/[\w-]+/token")
PROXIED: Final = re.compile(r"/api/v1/namespaces/[\w-]+/services/[^/]+/proxy(/.*)")
PLUGIN: Final = """#!{python}
print('{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",'
      '"status": {{"token": "{token}"}}}}')
"""


@dataclass
class Front:
    """What an API server does before the fake one: it knows its users, and checks their rights.

    A user's token is the user's name. The service proxy removes it, as the real one does.
    """

    api: ReadApi

    async def serve(self, request: web.Request) -> web.Response:
        user = request.headers.get("Authorization", "").removeprefix("Bearer ")
        asked = TOKEN_PATH.fullmatch(request.path)
        if asked:
            right, namespace = ("create", "serviceaccounts/token"), asked[1]
        else:
            right, namespace = ("get", "services/proxy"), SYSTEM
        if (user, *right, namespace) not in self.api.fake.access.granted:
            status = {"kind": "Status", "reason": "Forbidden", "message": "no", "code": 403}
            return web.json_response(status, status=403)
        if asked:
            return await self._issue(request)
        return await self._proxy(request)

    async def _issue(self, request: web.Request) -> web.Response:
        async with KubeClient.connect(self.api.fake.credentials) as client:
            answer = await client.post(request.path, await request.json())
        return web.Response(body=answer, status=201, content_type="application/json")

    async def _proxy(self, request: web.Request) -> web.Response:
        path = PROXIED.fullmatch(request.path)
        assert path is not None, request.path
        host, port = self.api.running.others[0]
        headers = {key: text for key, text in request.headers.items() if key != "Authorization"}
        url = f"http://{host}:{port}{path[1]}?{request.query_string}"
        async with self.api.session.get(url, headers=headers) as answer:
            return web.Response(
                body=await answer.read(), status=answer.status, content_type=answer.content_type
            )


@contextlib.asynccontextmanager
async def front(api: ReadApi) -> AsyncIterator[str]:
    """Yield the URL of the API server; both users have the rights of docs/who-may-read.md."""
    grant = api.fake.access.grant
    for user, (namespace, _) in TEAMS.items():
        account = {"name": VIEWERS_ACCOUNT, "namespace": namespace}
        api.fake.put("/api/v1/serviceaccounts", {"metadata": account})
        grant(f"system:serviceaccount:{namespace}:{VIEWERS_ACCOUNT}", "list", "pods", namespace)
        grant(user, "create", "serviceaccounts/token", namespace)
        grant(user, "get", "services/proxy", SYSTEM)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", Front(api).serve)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


def kubeconfig(directory: Path, url: str, user: dict[str, Any], namespace: str) -> Path:
    document = {
        "current-context": "c",
        "contexts": [
            {"name": "c", "context": {"cluster": "c", "user": "u", "namespace": namespace}}
        ],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": user}],
    }
    file = directory / "kubeconfig"
    file.write_text(yaml.safe_dump(document))
    return file


def plugin(directory: Path, token: str) -> dict[str, Any]:
    file = directory / "plugin"
    file.write_text(PLUGIN.format(python=sys.executable, token=token))
    file.chmod(0o700)
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": str(file), "interactiveMode": "Never"}}


async def seen(way: Way, path: str) -> Any:
    """Return what the page reads through ``shuntyard ui`` on a way."""
    listener = socket.create_server(("127.0.0.1", 0))
    guard = Guard(listener.getsockname()[1])
    runner = web.AppRunner(ui.create_app(way, guard, lambda _: []))
    await runner.setup()
    await web.SockSite(runner, listener).start()
    jar = aiohttp.CookieJar(unsafe=True)
    try:
        async with aiohttp.ClientSession(cookie_jar=jar) as browser:
            async with browser.get(guard.link) as opened:
                assert opened.status == 200
            async with browser.get(f"{guard.origin}{path}") as answer:
                text = await answer.text()
                assert answer.status == 200, text
    finally:
        await runner.cleanup()
    return json.loads(text)


def proxied(directory: Path, url: str, user: dict[str, Any], namespace: str) -> Way:
    """Return the way of a kubeconfig's user through the service proxy."""
    credentials = auth.load(kubeconfig(directory, url, user, namespace))
    return ByService(ApiServer(credentials), parse(DEFAULT_SERVICE))


def direct(directory: Path, api: ReadApi, token: str) -> Way:
    """Return the way of a token to the listener."""
    host, port = api.running.others[0]
    file = directory / "token"
    file.write_text(token)
    return ByUrl(f"http://{host}:{port}", token_file=file)


@pytest.mark.parametrize("user", TEAMS)
@pytest.mark.parametrize("kind", ["a token", "a plugin", "a token, direct"])
async def test_a_user_sees_the_own_jobs_and_others_as_numbers(
    tmp_path: Path, user: str, kind: str
) -> None:
    own, other = TEAMS[user]
    async with read_api(without_token="health") as api, front(api) as url:
        if kind == "a token, direct":
            api.fake.access.grant(user, "list", "pods", own)
            way = await asyncio.to_thread(direct, tmp_path, api, api.token(user))
        else:
            section = {"token": user}
            if kind == "a plugin":
                section = await asyncio.to_thread(plugin, tmp_path, user)
            way = await asyncio.to_thread(proxied, tmp_path, url, section, own)
        for name in ("queue", "jobs", "namespaces"):
            answer = await seen(way, f"/v1/{name}")
            assert {entry["namespace"] for entry in answer["entries"]} == {own}, name
            assert other not in json.dumps(answer), name
        assert (await seen(way, "/v1/queue"))["others"]["jobs"] == 1


async def test_without_the_right_in_the_own_namespace_nothing_is_seen(tmp_path: Path) -> None:
    async with read_api(without_token="health") as api, front(api) as url:
        way = await asyncio.to_thread(proxied, tmp_path, url, {"token": OWNER}, "blue")
        with pytest.raises(AssertionError, match="in the namespace shuntyard-system or blue"):
            await seen(way, "/v1/queue")
