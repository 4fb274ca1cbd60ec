"""An API server inside the test process: fast, strict where it matters to us, faults on demand.

::

    async with FakeKube.running() as fake, KubeClient.connect(fake.credentials) as client:
        fake.put(paths.NODES, {"metadata": {"name": "n1"}})
        fake.faults.order("list", "/api/v1/pods", kube_faults.GONE)
        ...
        assert fake.verbs("pods/binding") == ["create"]

The conformance suite (tests/conformance) compares it with the real one.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from shared.connections import Site
from shared.kube import paths
from shared.kube.auth import Credentials
from shared.kube.tokens import FixedToken
from tests.fakes import kube_evictions, kube_faults, kube_installed, kube_watch
from tests.fakes.kube_access import Access
from tests.fakes.kube_actions import Actions
from tests.fakes.kube_errors import Refusal
from tests.fakes.kube_request import Target, target
from tests.fakes.kube_selectors import Object
from tests.fakes.kube_tokens import Tokens

_JSON = "application/json"


@dataclass(frozen=True)
class Call:
    """One request as the server saw it; verb and resource are RBAC's words."""

    verb: str
    resource: str
    namespace: str
    name: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


class FakeKube:
    """The server; every change a test makes directly is announced to the watches at once.

    Attributes:
        faults: Orders of faults.
        calls: Every request, in order.
        token: The bearer token that requests must carry; empty: none.
        tokens: The service account tokens it issued.
        access: What their bearers may do.
        absent: Collections of resources that are not installed.
        installed: Those of other API groups than ours and Kubernetes' own that are.
    """

    def __init__(self) -> None:
        self.faults = kube_faults.FaultQueue()
        self.calls: list[Call] = []
        self.token = ""
        self.actions = Actions()
        self.tokens = Tokens(self.actions.store)
        self.access = Access()
        self.watches = kube_watch.Watches(self.actions.store)
        self.absent: set[str] = set()
        self.installed: set[str] = set()
        self._url = ""
        for name in ("default", "kube-system"):
            self.put("/api/v1/namespaces", {"metadata": {"name": name}})

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator[Self]:
        """Yield a server that listens on a free port of 127.0.0.1."""
        fake = cls()
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", fake._serve)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await Site(runner, socket.create_server(("127.0.0.1", 0))).start()
        host, port = runner.addresses[0][:2]
        fake._url = f"http://{host}:{port}"
        try:
            yield fake
        finally:
            fake.watches.close()
            server = runner.server
            await runner.cleanup()
            await _close_late(server)

    @property
    def credentials(self) -> Credentials:
        """The credentials for ``KubeClient.connect``."""
        return Credentials(server=self._url, token=FixedToken(self.token or None))

    def put(self, collection: str, manifest: Object) -> Object:
        """Create an object, or replace it whole, past every check; return it."""
        meta = manifest["metadata"]
        place = Target(collection, meta.get("namespace", ""), meta["name"], "")
        old = self.actions.store.get(place.key)
        if old is None:
            made = self.actions.create(place, manifest)
        else:
            kept = {k: old["metadata"][k] for k in ("uid", "creationTimestamp")}
            head = {"apiVersion": place.api_version, "kind": place.kind}
            made = {**head, **manifest, "metadata": {**kept, **meta}}
            made = self.actions.store.write(place.key, made)
        if old is None and "status" in manifest:
            made = self.actions.store.write(place.key, {**made, "status": manifest["status"]})
        self.watches.wake()
        return made

    def remove(self, collection: str, name: str, namespace: str = "") -> None:
        """Remove an object past every check."""
        self.actions.store.write((collection, namespace, name), None)
        self.watches.wake()

    def objects(self, collection: str) -> list[Object]:
        """Return the objects of a collection, by namespace and name."""
        return self.actions.store.collection(collection, "", lambda _found: True)

    def object(self, collection: str, name: str, namespace: str = "") -> Object | None:
        """Return an object, None if there is none."""
        return self.actions.store.get((collection, namespace, name))

    def install(self, collection: str) -> None:
        """Define a resource of another project."""
        self.installed.add(collection)

    def uninstall(self, collection: str) -> None:
        """Remove its definition: its objects go first, then its watches end."""
        for found in self.objects(collection):
            meta = found["metadata"]
            self.remove(collection, meta["name"], meta.get("namespace", ""))
        self.installed.discard(collection)
        self.watches.hang_up(collection)

    def compact(self) -> None:
        """Drop the history: older watches and pages get 410."""
        self.actions.store.compact()

    def verbs(self, resource: str) -> list[str]:
        """Return the verbs that were called on a resource, e.g. ``pods/binding``."""
        return [call.verb for call in self.calls if call.resource == resource]

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if request.path == paths.GROUPS:
            return self._groups()
        about = target(request.path)
        verb = _verb(request, about)
        body = json.loads(await request.text() or "null")
        self._record(request, about, verb, body)
        fault = self.faults.take(verb, request.path)
        try:
            self._admit(request, about)
            await _suffer(fault, request)
            if verb == "watch":
                return await self.watches.serve(request, about, fault)
            answer = self._act(verb, about, request, body)
        except Refusal as refusal:
            return _refused(refusal)
        self.watches.wake()
        if isinstance(fault, kube_faults.LostAnswer):
            _cut(request)
        return web.json_response(answer, status=201 if verb == "create" else 200)

    def _groups(self) -> web.Response:
        self.calls.append(Call("get", "apis", "", ""))
        fault = self.faults.take("get", paths.GROUPS)
        if isinstance(fault, kube_faults.Answer):
            return _refused(fault.refusal())
        return web.json_response(kube_installed.groups(self.installed, self.absent))

    def _admit(self, request: web.Request, about: Target) -> None:
        kube_installed.check(about.collection, self.installed, self.absent)
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            raise Refusal(401, "Unauthorized", "Unauthorized")

    def _act(self, verb: str, about: Target, request: web.Request, body: Any) -> Object:
        actions = self.actions
        if verb in {"get", "list", "deletecollection"}:
            return self._act_on_all(verb, about, request, body)
        match verb, about.subresource:
            case "create", _:
                return self._create(about, body)
            case "update", "" | "status":
                return actions.replace(about, body)
            case "patch", "" | "status" | "resize":
                return actions.patch(about, body, request.content_type)
            case "delete", "":
                return actions.delete(about, body or {})
            case _:
                raise Refusal(405, "MethodNotAllowed", f"the fake does not {verb} {about}")

    def _create(self, about: Target, body: Any) -> Object:
        match about.plural, about.subresource:
            case _, "binding":
                return self.actions.bind(about, body)
            case _, "eviction":
                return kube_evictions.evict(self.actions, about, body)
            case _, "token":
                return self.tokens.request(about, body)
            case "tokenreviews", "":
                return self.tokens.review(body)
            case "subjectaccessreviews", "":
                return self.access.review(body)
            case _, "":
                self.actions.check_place(about, body)
                return self.actions.create(about, body)
            case _:
                raise Refusal(405, "MethodNotAllowed", f"the fake does not create {about}")

    def _act_on_all(self, verb: str, about: Target, request: web.Request, body: Any) -> Object:
        match verb:
            case "get":
                return self.actions.read(about)
            case "list":
                return self.actions.page(about, request.query)
            case _:
                return self.actions.delete_all(about, request.query, body or {})

    def _record(self, request: web.Request, about: Target, verb: str, body: Any) -> None:
        resource = "/".join(part for part in (about.plural, about.subresource) if part)
        params = dict(request.query)
        self.calls.append(Call(verb, resource, about.namespace, about.name, params, body))


def _verb(request: web.Request, about: Target) -> str:
    if request.method == "GET" and not about.name:
        return "watch" if request.query.get("watch") in {"1", "true"} else "list"
    if request.method == "DELETE" and not about.name:
        return "deletecollection"
    words = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
    return words[request.method]


async def _suffer(fault: kube_faults.Fault | None, request: web.Request) -> None:
    match fault:
        case kube_faults.Answer():
            raise fault.refusal()
        case kube_faults.Disconnect():
            _cut(request)
            raise Refusal(503, "Disconnected", "the client has disconnected")
        case kube_faults.Slow():
            await fault.gate.wait()
        case _:
            return


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _refused(refusal: Refusal) -> web.Response:
    headers = {}
    if refusal.retry_after_seconds is not None:
        headers["Retry-After"] = str(refusal.retry_after_seconds)
    return web.json_response(refusal.body(), status=refusal.status, headers=headers)


async def _close_late(server: web.Server | None) -> None:
    """Close connections that came while the server ended: aiohttp leaves those open."""
    for connection in [] if server is None else server.connections:
        connection.force_close()
    await asyncio.sleep(0)
