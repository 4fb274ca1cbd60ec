"""Operators of other projects, built from their own Go modules and run beside a cluster.

The program, its definitions and its webhooks all come from the module, so that what a test sees is
what users of that version see. Webhooks are called at this machine's loopback, with a certificate
of the cluster's own authority.
"""

import base64
import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from devcluster import api
from devcluster.assets import cache_directory
from devcluster.certificates import Authority
from devcluster.cluster import Cluster
from devcluster.errors import AssetsError, tail
from devcluster.operator_catalog import Operator
from devcluster.ports import free_ports
from devcluster.toolchain import find_go
from shared.kube.client import KubeClient
from shared.kube.errors import AlreadyExistsError, NotFoundError, ThrottledError
from shared.system_clock import SystemClock

_ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
_COLLECTIONS: Final = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "MutatingWebhookConfiguration": f"{_ADMISSION}/mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": f"{_ADMISSION}/validatingwebhookconfigurations",
}
_READY_SECONDS: Final = 60.0
_CERTIFICATE: Final = ("tls.crt", "tls.key")


def ensure(operator: Operator, report: Callable[[str], None]) -> Path:
    """Return the folder of the operator's source with its program in it, built if need be.

    Raises:
        AssetsError: The module cannot be had, or does not build.
    """
    cache = cache_directory(os.environ)
    home = cache / "operators" / f"{operator.name}-{operator.version}"
    if (home / operator.name).exists():
        return home
    go = find_go(cache, report, os.environ)
    partial = home.with_name(f"{home.name}.partial-{os.getpid()}")
    shutil.copytree(_source(go, operator), partial, copy_function=shutil.copyfile)
    report(f"building {operator.name} {operator.version} from {operator.module}: some minutes")
    fixed = {"CGO_ENABLED": "0", "GOFLAGS": "-trimpath", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    command = [str(go), "build", "-ldflags", "-s -w", "-o", operator.name, operator.package]
    done = subprocess.run(
        command, cwd=partial, env=os.environ | fixed, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AssetsError(f"building {operator.name} failed:\n{done.stderr[-2000:]}")
    partial.rename(home)
    return home


def _source(go: Path, operator: Operator) -> Path:
    module = f"{operator.module}@{operator.version}"
    done = subprocess.run(
        [go, "mod", "download", "-json", module], capture_output=True, text=True, check=False
    )
    told = json.loads(done.stdout or "{}")
    if "Dir" not in told:
        raise AssetsError(f"{module} cannot be had: {told.get('Error') or done.stderr.strip()}")
    return Path(told["Dir"])


@contextlib.contextmanager
def running(
    cluster: Cluster, operator: Operator, report: Callable[[str], None] = print
) -> Iterator[None]:
    """Run an operator for a cluster as long as the block lasts.

    Its definitions stay when it ends; its webhooks go, because nobody would answer them.

    Raises:
        AssetsError: It cannot be built, or ends at once.
        TimeoutError: Its objects are not served.
    """
    home = ensure(operator, report)
    place = cluster.directory / "operators" / operator.name
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    (port,) = free_ports(1)
    authority = _certificate(cluster, place)
    hooks = _hooks(home / operator.webhooks, port, authority) if operator.webhooks else []
    definitions = [_read(file) for file in sorted(home.glob(operator.definitions))]
    arguments = _arguments(operator, place, port, cluster.kubeconfig)
    log = place / "log"
    api.call(cluster.kubeconfig, lambda client: _install(client, definitions, operator))
    with log.open("wb") as output, _certificate_where_it_looks(operator, place):
        process = subprocess.Popen(
            [home / operator.name, *arguments], stdout=output, stderr=subprocess.STDOUT
        )
        try:
            api.call(cluster.kubeconfig, lambda client: _create(client, hooks))
            if process.poll() is not None:
                raise AssetsError(f"{operator.name} ended at once; the end of {log}:\n{tail(log)}")
            yield
        finally:
            process.terminate()
            process.wait()
            api.call(cluster.kubeconfig, lambda client: _delete(client, hooks))


def _arguments(operator: Operator, place: Path, port: int, kubeconfig: Path) -> list[str]:
    """Return the arguments of its program; its configuration file is written."""
    config = place / "config.yaml"
    webhook = {"port": port, "host": "127.0.0.1", "certDir": str(place)}
    if operator.config:
        config.write_text(yaml.safe_dump({**operator.config, "webhook": webhook}))
    names = {"config": config, "kubeconfig": kubeconfig, "port": port}
    return [argument.format(**names) for argument in operator.arguments]


@contextlib.contextmanager
def _certificate_where_it_looks(operator: Operator, place: Path) -> Iterator[None]:
    """Put the certificate into the folder that is compiled into the program, while it runs."""
    folder = operator.certificates
    if folder is None:
        yield
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in _CERTIFICATE:
        shutil.copyfile(place / name, folder / name)
    try:
        yield
    finally:
        for name in _CERTIFICATE:
            (folder / name).unlink(missing_ok=True)


def _certificate(cluster: Cluster, place: Path) -> str:
    """Issue the webhooks' certificate into a folder; return the authority's, as a client has it."""
    authority = Authority(cluster.layout.pki, SystemClock())
    pair = authority.issue_server(f"webhook-{place.name}")
    shutil.copyfile(pair.certificate, place / "tls.crt")
    shutil.copyfile(pair.key, place / "tls.key")
    return base64.b64encode(authority.certificate.read_bytes()).decode()


def _hooks(file: Path, port: int, authority: str) -> list[dict[str, Any]]:
    """Return the webhook configurations, with this machine in place of a Service."""
    found = [manifest for manifest in yaml.safe_load_all(file.read_text()) if manifest]
    for manifest in found:
        for webhook in manifest["webhooks"]:
            path = webhook["clientConfig"].pop("service")["path"]
            url = f"https://127.0.0.1:{port}{path}"
            webhook["clientConfig"] = {"url": url, "caBundle": authority}
    return found


def _read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(file.read_text())
    return found


async def _install(
    client: KubeClient, definitions: list[dict[str, Any]], operator: Operator
) -> None:
    await _create(client, definitions)
    for collection, manifest in operator.objects:
        with contextlib.suppress(AlreadyExistsError):
            await client.post(collection, manifest)

    async def served() -> bool:
        with contextlib.suppress(NotFoundError, ThrottledError):  # a new kind begins by refusing
            return bool(await client.get(operator.collection))
        return False

    await api.poll(served, _READY_SECONDS)


async def _create(client: KubeClient, manifests: list[dict[str, Any]]) -> None:
    for manifest in manifests:
        with contextlib.suppress(AlreadyExistsError):
            await client.post(_COLLECTIONS[manifest["kind"]], manifest)


async def _delete(client: KubeClient, manifests: list[dict[str, Any]]) -> None:
    for manifest in manifests:
        with contextlib.suppress(NotFoundError):
            await client.delete(f"{_COLLECTIONS[manifest['kind']]}/{manifest['metadata']['name']}")
