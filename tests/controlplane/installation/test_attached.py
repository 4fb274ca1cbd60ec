"""A real kube-scheduler elsewhere, as the overlay ``attached`` has it: TLS on both sides.

Certificates, Lease and EndpointSlice are the extender's own; kube-scheduler's configuration is the
shipped one, with this machine's addresses and files. kube-scheduler is started with the address of
the EndpointSlice, which replaces the Service.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.cluster import Cluster
from devcluster.credentials.certificates import Authority
from devcluster.options import KwokNodes
from devcluster.programs import assets
from extender.app.main import serve
from extender.app.parts import Parts
from extender.core import certificates
from extender.core.certificates import Plan, Requirements
from extender.servers.tls import issuing, parsing
from extender.settings.extender import ExtenderSettings
from shared.kube import auth, endpoints, keyed_data, paths
from shared.kube.client import KubeClient
from shared.kube.errors import AlreadyExistsError
from shared.system_clock import SystemClock
from tests.component.shell import pod
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

OVERLAY = Path(__file__).parents[3] / "deploy" / "overlays" / "attached"
SYSTEM, SERVICE = "shuntyard-system", "shuntyard-scheduler"
SECRET = paths.namespaced(paths.SECRETS, SYSTEM, "shuntyard-certificates")
SLICE = paths.namespaced(endpoints.SLICES, SYSTEM, SERVICE)
PATIENCE_SECONDS = 60.0
FORBIDDEN = 403
ADDRESS = "10.9.8.7"
"""Address of the pod: a slice takes no loopback address."""


@dataclass
class Attached:
    """The extender that runs here, and where its certificates are."""

    client: KubeClient
    port: int
    directory: Path
    place: Path
    kubeconfig: Path

    async def submit(self, *names: str) -> None:
        for name in names:
            made = pod(name, job=f"job-{name}", size=1)
            await self.client.post(paths.pods("default"), made)

    async def bound(self, name: str) -> bool:
        return bool(await self._spec(name, "nodeName"))

    async def released(self, name: str) -> bool:
        return not await self._spec(name, "schedulingGates")

    async def _spec(self, name: str, key: str) -> Any:
        found = json.loads(await self.client.get(paths.pod("default", name)))
        return found["spec"].get(key)

    @contextlib.asynccontextmanager
    async def kube_scheduler(self, **tls: Path | None) -> AsyncIterator[Path]:
        """Run one kube-scheduler; ``tls`` replaces its files. Yields its log."""
        config, log = self.place / "scheduler.yaml", self.place / "scheduler.log"
        await asyncio.to_thread(config.write_text, json.dumps(self._configuration(tls)))
        program = (await asyncio.to_thread(assets.ensure, frozenset({"kube-scheduler"})))[
            "kube-scheduler"
        ]
        with contextlib.ExitStack() as stack:
            stream = await asyncio.to_thread(lambda: stack.enter_context(log.open("w")))
            process = await asyncio.create_subprocess_exec(
                program, f"--config={config}", "--secure-port=0", "--v=3", stderr=stream
            )
            try:
                yield log
            finally:
                process.terminate()
                await process.wait()

    def _configuration(self, tls: dict[str, Path | None]) -> dict[str, Any]:
        shipped = yaml.safe_load((OVERLAY / "scheduler.yaml").read_text())
        shipped["leaderElection"] = {"leaderElect": False}
        shipped["clientConnection"]["kubeconfig"] = str(self.kubeconfig)
        for entry in shipped["extenders"]:
            entry["urlPrefix"] = f"https://127.0.0.1:{self.port}"
            files = {
                key: tls.get(key, self.directory / Path(entry["tlsConfig"][key]).name)
                for key in ("caFile", "certFile", "keyFile")
            }
            entry["tlsConfig"] |= {key: str(file) for key, file in files.items() if file}
            for key in [key for key, file in files.items() if file is None]:
                del entry["tlsConfig"][key]
        return shipped  # type: ignore[no-any-return]


async def _ship(client: KubeClient) -> None:
    """Apply what the replicas need; the control plane of the tests may have some of it."""
    parts = [
        (paths.NAMESPACES, "", {"metadata": {"name": SYSTEM}}),
        (paths.NAMESPACES, "", {"metadata": {"name": "shuntyard-agents"}}),
        (paths.SECRETS, SYSTEM, {"metadata": {"name": "shuntyard-certificates"}}),
        (paths.CONFIG_MAPS, "shuntyard-agents", {"metadata": {"name": "shuntyard-ca"}}),
    ]
    manifests = yaml.safe_load_all((OVERLAY / "service.yaml").read_text())
    (shipped,) = [one for one in manifests if one["kind"] == "EndpointSlice"]
    parts.append((endpoints.SLICES, SYSTEM, shipped))
    for collection, namespace, manifest in parts:
        path = paths.namespaced(collection, namespace) if namespace else collection
        with contextlib.suppress(AlreadyExistsError):
            await client.post(path, manifest)


def _settings(directory: Path) -> ExtenderSettings:
    shipped = yaml.safe_load((OVERLAY / "settings.yaml").read_text())
    files = {"certificate": directory / "tls.crt", "key": directory / "tls.key"}
    here = {"listen_host": "127.0.0.1", "listen_port": 0}
    shipped["scheduler"] |= {**here, **files, "client_authority": directory / "ca.crt"}
    shipped["api"] |= here
    shipped["agents"] |= {**here, **files}
    shipped["certificates"]["directory"] = directory
    shipped["endpoint"]["address"] = ADDRESS
    return ExtenderSettings.model_validate({**shipped, "decision_log": {"directory": None}})


@pytest.fixture
async def attached(
    clean_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Attached]:
    for module in ("certificates", "renewal"):
        monkeypatch.setattr(f"extender.controllers.{module}.LOOK_SECONDS", 0.5)
    await asyncio.to_thread(clean_cluster.add_kwok_nodes, KwokNodes(3))
    credentials = auth.load(clean_cluster.kubeconfig)
    directory = tmp_path / "certificates"
    stop, ready = asyncio.Event(), asyncio.get_running_loop().create_future()

    def note_addresses(_parts: Parts, addresses: tuple[tuple[str, int], ...]) -> None:
        ready.set_result(addresses)

    async with KubeClient.connect(credentials) as client:
        await _ship(client)
        settings = await asyncio.to_thread(_settings, directory)
        running = asyncio.create_task(serve(settings, credentials, stop=stop, ready=note_addresses))
        await asyncio.wait({running, ready}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            await running
        (_, port), *_ = ready.result()
        try:
            yield Attached(client, port, directory, tmp_path, clean_cluster.kubeconfig)
        finally:
            stop.set()
            await running


async def test_kube_scheduler_calls_over_tls_and_continues_when_the_authority_is_renewed(
    attached: Attached,
) -> None:
    """It keeps the first list of authorities and the first client certificate all the time."""
    async with attached.kube_scheduler():
        await attached.submit("first")
        await eventually(lambda: attached.bound("first"), PATIENCE_SECONDS)
        led = json.loads(await attached.client.get(SLICE))
        assert led["endpoints"][0]["addresses"] == [ADDRESS]
        before = await asyncio.to_thread((attached.directory / "ca.crt").read_bytes)
        old_client = await asyncio.to_thread((attached.directory / "client.crt").read_bytes)
        await _succeed(attached.client)

        async def renewed() -> bool:
            now = await asyncio.to_thread((attached.directory / "ca.crt").read_bytes)
            return before in now and now != before

        await eventually(renewed, PATIENCE_SECONDS)
        kept = await keyed_data.read_secret(attached.client, SECRET)
        assert kept.data[certificates.CLIENT] != old_client
        for number in range(5):
            await attached.submit(f"later-{number}")
            await eventually(lambda n=number: attached.bound(f"later-{n}"), PATIENCE_SECONDS)
    # one that reads only the new authority's list, with its own new certificate
    async with attached.kube_scheduler():
        await attached.submit("last")
        await eventually(lambda: attached.bound("last"), PATIENCE_SECONDS)


async def _succeed(client: KubeClient) -> None:
    """Renew as the replicas do when two thirds of the authority's life are over."""
    kept = await keyed_data.read_secret(client, SECRET)
    settings, day = ExtenderSettings().certificates, 86400.0
    required = Requirements(
        frozenset(settings.names),
        settings.client_name,
        settings.valid_days * day,
        settings.authority_valid_days * day,
    )
    now = SystemClock().now()
    held = parsing.parse(kept.data)
    assert certificates.plan(parsing.observed(held, now), required, now).nothing
    plan = Plan(authority=True, succeeds=True, server=True, client=True)
    made = issuing.issue(held, plan, required, now)
    await keyed_data.write_secret(client, SECRET, kept.version, made)


@pytest.mark.parametrize("which", ["no certificate", "a foreign one", "another name"])
async def test_only_that_kube_scheduler_gets_an_answer(
    attached: Attached, which: str, tmp_path: Path
) -> None:
    files: dict[str, Path | None] = {"certFile": None, "keyFile": None}
    if which == "a foreign one":
        foreign = await asyncio.to_thread(Authority.create, tmp_path / "foreign", SystemClock())
        pair = await asyncio.to_thread(foreign.issue_client, "x", "shuntyard-kube-scheduler")
        files = {"certFile": pair.certificate, "keyFile": pair.key}
    if which == "another name":
        kept = await keyed_data.read_secret(attached.client, SECRET)
        files = await asyncio.to_thread(_another_name, kept.data, tmp_path)
    known = which == "another name"  # its certificate is ours: the handshake lets it through
    async with attached.kube_scheduler(**files) as log:
        await attached.submit("never")
        await eventually(lambda: attached.released("never"), PATIENCE_SECONDS)

        async def refused() -> bool:
            lines = (await asyncio.to_thread(log.read_text)).splitlines()
            refusals = [line for line in lines if "Error scheduling pod" in line]
            # the number alone may also be part of a port or of the line's time
            return bool(refusals) and any(f"code {FORBIDDEN}" in line for line in refusals) == known

        await eventually(refused, PATIENCE_SECONDS)
        assert not await attached.bound("never")


def _another_name(data: Mapping[str, bytes], place: Path) -> dict[str, Path | None]:
    """Return a client certificate of the same authority for another name."""
    now = SystemClock().now()
    required = Requirements(frozenset(["x"]), "another-client", 3600.0, 36000.0)
    made = issuing.issue(parsing.parse(data), Plan(client=True), required, now)
    for key in (certificates.CLIENT, certificates.CLIENT_KEY):
        (place / key).write_bytes(made[key])
    return {"certFile": place / certificates.CLIENT, "keyFile": place / certificates.CLIENT_KEY}
