"""Operators of other projects, built from their own Go modules and run beside a cluster.

The program, its definitions and its webhooks come from the module, so that tests see what users of
that version see. Webhooks are called on loopback, with a certificate of the cluster's CA.
"""

import base64
import contextlib
import functools
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from devcluster import api
from devcluster.cluster import Cluster
from devcluster.credentials.certificates import Authority
from devcluster.errors import AssetsError, tail
from devcluster.local.ports import free_ports
from devcluster.operator_catalog import Operator, Project
from devcluster.programs import building
from devcluster.programs.assets import cache_directory
from devcluster.programs.building import find_go
from shared.kube.client import KubeClient
from shared.kube.errors import (
    AlreadyExistsError,
    ConnectionLostError,
    NotFoundError,
    ThrottledError,
)
from shared.system_clock import SystemClock

_ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
_HOOKS: Final = {
    "MutatingWebhookConfiguration": f"{_ADMISSION}/mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": f"{_ADMISSION}/validatingwebhookconfigurations",
}
_COLLECTIONS: Final = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    **_HOOKS,
}
_READY_SECONDS: Final = 300.0
"""For definitions of a megabyte on a busy machine."""
_CERTIFICATE: Final = ("tls.crt", "tls.key")
_LOADER: Final[Any] = type("Loader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
"""Definitions have up to 19,000 lines: half a minute with the pure Python loader."""
_LOADER.add_constructor("tag:yaml.org,2002:value", lambda _loader, node: node.value)
"""``=``, which is special in YAML 1.1 only."""
_NOT_YET: Final = (NotFoundError, ThrottledError, ConnectionLostError)
"""Answers of a server about a kind that was just defined."""


def ensure(operator: Operator, report: Callable[[str], None]) -> Path:
    """Return the folder of the operator's source with its program in it, built if need be.

    Raises:
        AssetsError: The module cannot be downloaded, or does not build.
    """
    cache = cache_directory(os.environ)
    home = cache / "operators" / f"{operator.name}-{operator.version}"
    if (home / operator.name).exists():
        return home
    go = find_go(cache, report, os.environ)
    partial = home.with_name(f"{home.name}.partial-{os.getpid()}")
    shutil.copytree(_source(go, operator), partial, copy_function=shutil.copyfile)
    partial.chmod(0o755)  # a module's folders cannot be written to
    report(f"building {operator.name} {operator.version} from {operator.module}: some minutes")
    for arguments in _commands(operator):
        done = subprocess.run(
            [go, *arguments],
            cwd=partial,
            env=building.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise AssetsError(f"building {operator.name} failed:\n{done.stderr[-2000:]}")
    partial.rename(home)
    return home


def _commands(operator: Operator) -> Iterator[list[str]]:
    """Yield the commands of Go in a copy of the module."""
    build = ["build", "-ldflags", "-s -w", "-o", operator.name, operator.package]
    if operator.published:
        modules = [(module.partition("@")[0], module) for module in operator.published]
        yield ["mod", "edit", *(f"-replace={path}={module}" for path, module in modules)]
        build.insert(1, "-mod=mod")  # go.sum lacks it
    yield build


def define(cluster: Cluster, project: Project, report: Callable[[str], None] = print) -> None:
    """Install a project's kinds without its program, which needs no build.

    Raises:
        AssetsError: The module cannot be downloaded.
        TimeoutError: Its objects are not served.
    """
    module = _source(find_go(cache_directory(os.environ), report, os.environ), project)
    definitions = _definitions(module, project)
    api.call(cluster.kubeconfig, lambda client: _define(client, definitions, project.collection))


def _source(go: Path, project: Project) -> Path:
    module = f"{project.module}@{project.version}"
    done = subprocess.run(
        [go, "mod", "download", "-json", module], capture_output=True, text=True, check=False
    )
    result = json.loads(done.stdout or "{}")
    if "Dir" not in result:
        problem = result.get("Error") or done.stderr.strip()
        raise AssetsError(f"{module} cannot be downloaded: {problem}")
    return Path(result["Dir"])


@contextlib.contextmanager
def running(
    cluster: Cluster, operator: Operator, report: Callable[[str], None] = print
) -> Iterator[None]:
    """Run an operator for a cluster as long as the block lasts.

    Its definitions stay when it ends; its webhooks are removed, because none would answer.

    Raises:
        AssetsError: It cannot be built, or ends at once.
        TimeoutError: Its objects are not served.
    """
    home = ensure(operator, report)
    place = cluster.directory / "operators" / operator.name
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    (port,) = free_ports(1)
    authority = _certificate(cluster, place)
    hooks = _hooks(home, operator, port, authority) if operator.webhooks else []
    definitions = _definitions(home, operator)
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


@contextlib.contextmanager
def running_together(cluster: Cluster, operators: Iterable[Operator]) -> Iterator[None]:
    """Run operators beside each other, started in this order; raises as `running`."""
    with contextlib.ExitStack() as stack:
        for operator in operators:
            stack.enter_context(running(cluster, operator))
        yield


def _arguments(operator: Operator, place: Path, port: int, kubeconfig: Path) -> list[str]:
    """Write its configuration file, and return the arguments of its program."""
    config = place / "config.yaml"
    webhook: dict[str, Any] = {"port": port, "host": "127.0.0.1"}
    if operator.certificates is None:
        webhook["certDir"] = str(place)
    if operator.config:
        whole = {**operator.config, "webhook": {**webhook, **operator.config.get("webhook", {})}}
        config.write_text(yaml.safe_dump(whole))
    names = {"config": config, "kubeconfig": kubeconfig, "port": port, "place": place}
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
    """Issue the webhooks' certificate into a folder; return the CA certificate, in base64."""
    authority = Authority(cluster.layout.pki, SystemClock())
    pair = authority.issue_server(f"webhook-{place.name}")
    shutil.copyfile(pair.certificate, place / "tls.crt")
    shutil.copyfile(pair.key, place / "tls.key")
    shutil.copyfile(authority.certificate, place / "ca.crt")
    return base64.b64encode(authority.certificate.read_bytes()).decode()


def _hooks(home: Path, operator: Operator, port: int, authority: str) -> list[dict[str, Any]]:
    """Return the webhook configurations, with this machine in place of a Service.

    They get names of their own, because most projects use the same ones.
    """
    text = (home / operator.webhooks).read_text()
    manifests = yaml.load_all(text, _LOADER)
    hooks = [one for one in manifests if one and one["kind"] in _HOOKS]
    for manifest in hooks:
        if not operator.looks_for_webhooks:
            manifest["metadata"]["name"] = f"{operator.name}-{manifest['metadata']['name']}"
        for webhook in manifest["webhooks"]:
            path = webhook["clientConfig"].pop("service")["path"]
            url = f"https://127.0.0.1:{port}{path}"
            webhook["clientConfig"] = {"url": url, "caBundle": authority}
    return hooks


def _definitions(module: Path, project: Project) -> list[dict[str, Any]]:
    files = sorted(module.glob(project.definitions))
    return [yaml.load(file.read_text(), _LOADER) for file in files]  # noqa: S506 - both are safe


async def _install(
    client: KubeClient, definitions: list[dict[str, Any]], operator: Operator
) -> None:
    await _define(client, definitions, operator.collection)
    for collection, manifest in operator.objects:
        await api.poll(functools.partial(_made, client, collection, manifest), _READY_SECONDS)


async def _define(client: KubeClient, definitions: list[dict[str, Any]], collection: str) -> None:
    await _create(client, definitions)
    names = [definition["metadata"]["name"] for definition in definitions]
    await api.poll(lambda: _established(client, names), _READY_SECONDS)
    await api.poll(lambda: _served(client, collection), _READY_SECONDS)


async def _established(client: KubeClient, names: list[str]) -> bool:
    """Return True if all kinds are established: operators exit if a watched one is missing."""
    with contextlib.suppress(*_NOT_YET):
        for name in names:
            definition = await api.get(client, f"{_COLLECTIONS['CustomResourceDefinition']}/{name}")
            listed = definition.get("status", {}).get("conditions") or ()
            conditions = {c["type"]: c["status"] for c in listed}
            if conditions.get("Established") != "True":
                return False
        return True
    return False


async def _served(client: KubeClient, collection: str) -> bool:
    with contextlib.suppress(*_NOT_YET):
        return bool(await client.get(collection))
    return False


async def _made(client: KubeClient, collection: str, manifest: Mapping[str, Any]) -> bool:
    """Return True if the object exists; False: try again.

    A definition of a megabyte keeps a busy server longer than a client waits for its answer.
    """
    with contextlib.suppress(*_NOT_YET):
        with contextlib.suppress(AlreadyExistsError):
            await client.post(collection, manifest)
        return True
    return False


async def _create(client: KubeClient, manifests: list[dict[str, Any]]) -> None:
    for manifest in manifests:
        made = functools.partial(_made, client, _COLLECTIONS[manifest["kind"]], manifest)
        await api.poll(made, _READY_SECONDS)


async def _delete(client: KubeClient, manifests: list[dict[str, Any]]) -> None:
    for manifest in manifests:
        with contextlib.suppress(NotFoundError):
            await client.delete(f"{_COLLECTIONS[manifest['kind']]}/{manifest['metadata']['name']}")
