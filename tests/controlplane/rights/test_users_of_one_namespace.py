"""Users of one namespace, with client certificates, through the real service proxy.

They have the rights of docs/who-may-read.md, Users of one namespace.
"""

import asyncio
import base64
import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from cli.api_server import ApiServer
from cli.by_service import ByService
from cli.service import DEFAULT_SERVICE, parse
from devcluster.cluster import Cluster
from devcluster.shuntyard import read_api_service
from shared.kube import auth, paths
from shared.readapi.answer import VIEWERS_ACCOUNT
from tests.component.test_two_users import seen
from tests.controlplane import yard as yards
from tests.controlplane.jobs import job
from tests.controlplane.listeners.test_cli_through_the_api_server import shuntyard
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

SYSTEM: Final = read_api_service.NAMESPACE
GROUP: Final = "rbac.authorization.k8s.io"
ROLES: Final = f"/apis/{GROUP}/v1/roles"
BINDINGS: Final = f"/apis/{GROUP}/v1/rolebindings"
USERS: Final = ("ann", "bob")
VERSION: Final = "client.authentication.k8s.io/v1"
PARTS: Final = {"clientCertificate": "client-certificate", "clientKey": "client-key"}
"""Of an ExecCredential, and of a kubeconfig."""


@pytest.fixture(scope="module")
def cluster(control_plane: Cluster) -> Iterator[Cluster]:
    control_plane.empty()
    if read_api_service.address(control_plane.address) is None:
        pytest.skip("this machine has no address but loopback, where no proxy goes")
    yards.start(control_plane, {"api": {"without_token": "health"}})
    yield control_plane
    control_plane.empty()


@dataclass
class User:
    """A user of one namespace; ``kubeconfig`` has a client certificate and that namespace."""

    name: str
    namespace: str
    kubeconfig: Path


@pytest.fixture
async def users(yard: Yard) -> AsyncIterator[list[User]]:
    """Two users, each with a job that waits for a node."""
    made = [await _user(yard, name) for name in USERS]
    yield made
    for user in made:
        await yard.client.delete(paths.namespaced(BINDINGS, SYSTEM, f"shuntyard-{user.name}"))


async def _user(yard: Yard, name: str) -> User:
    namespace = await yard.namespace(f"of-{name}")
    account = {"kind": "ServiceAccount", "name": VIEWERS_ACCOUNT, "namespace": namespace}
    person = {"apiGroup": GROUP, "kind": "User", "name": name}
    accounts = paths.namespaced("/api/v1/serviceaccounts", namespace)
    await yard.client.post(accounts, {"metadata": {"name": VIEWERS_ACCOUNT}})
    lists = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    await _grant(yard, namespace, "shuntyard-viewer", lists, account)
    issues = {"resources": ["serviceaccounts/token"], "resourceNames": [VIEWERS_ACCOUNT]}
    token = {"apiGroups": [""], "verbs": ["create"], **issues}
    await _grant(yard, namespace, "shuntyard-token", token, person)
    await _bind(yard, SYSTEM, f"shuntyard-{name}", "shuntyard-team-viewer", person)
    file = await asyncio.to_thread(yard.cluster.kubeconfig_for, name)
    document = yaml.safe_load(file.read_text())
    document["contexts"][0]["context"]["namespace"] = namespace
    file.write_text(yaml.safe_dump(document))
    await yard.submit(job("wide", 6), to=namespace)
    return User(name, namespace, file)


async def _grant(
    yard: Yard, namespace: str, name: str, rule: Mapping[str, Any], subject: Mapping[str, Any]
) -> None:
    body = {"metadata": {"name": name}, "rules": [rule]}
    await yard.client.post(paths.namespaced(ROLES, namespace), body)
    await _bind(yard, namespace, name, name, subject)


async def _bind(
    yard: Yard, namespace: str, name: str, role: str, subject: Mapping[str, Any]
) -> None:
    body = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": role},
        "subjects": [subject],
    }
    await yard.client.post(paths.namespaced(BINDINGS, namespace), body)


def by_plugin(user: User) -> Path:
    """Return a kubeconfig whose credential plugin gives the certificate of the user's own one."""
    document = yaml.safe_load(user.kubeconfig.read_text())
    section = document["users"][0]["user"]
    status = {f"{key}Data": _pem(section, word) for key, word in PARTS.items()}
    credential = {"apiVersion": VERSION, "kind": "ExecCredential", "status": status}
    script = user.kubeconfig.with_name(f"plugin-of-{user.name}")
    script.write_text(f"#!{sys.executable}\nprint({json.dumps(json.dumps(credential))})\n")
    script.chmod(0o700)
    run = {"apiVersion": VERSION, "command": str(script), "interactiveMode": "Never"}
    document["users"][0]["user"] = {"exec": run}
    file = user.kubeconfig.with_name(f"by-plugin-of-{user.name}")
    file.write_text(yaml.safe_dump(document))
    return file


def _pem(section: Mapping[str, str], word: str) -> str:
    if word in section:
        return Path(section[word]).read_text()
    return base64.b64decode(section[f"{word}-data"]).decode()


@pytest.mark.parametrize("kind", ["a client certificate", "a plugin that gives one"])
async def test_the_page_shows_each_the_own_jobs_with(
    yard: Yard, users: list[User], kind: str
) -> None:
    assert yard

    async def shown(kubeconfig: Path) -> Any:
        credentials = await asyncio.to_thread(auth.load, kubeconfig)
        queue = await seen(ByService(ApiServer(credentials), parse(DEFAULT_SERVICE)), "/v1/queue")
        return queue if queue["entries"] and (queue["others"] or {}).get("jobs") else None

    for user, other in zip(users, reversed(users), strict=True):
        plugin = kind.startswith("a plugin")
        file = await asyncio.to_thread(by_plugin, user) if plugin else user.kubeconfig
        queue = await eventually(lambda file=file: shown(file), 60, "both jobs wait")
        assert {entry["namespace"] for entry in queue["entries"]} == {user.namespace}
        assert other.namespace not in json.dumps(queue)
        assert queue["others"]["jobs"] == 1


async def test_each_sees_the_own_jobs_and_those_of_the_other_as_numbers(
    yard: Yard, users: list[User]
) -> None:
    async def answered(user: User) -> Any:
        """Return the queue once both jobs wait, and the rights are known to the extender."""
        code, printed = await shuntyard(user.kubeconfig, "queue", "-o", "json")
        answer = json.loads(printed) if code == 0 else {}
        waits = answer.get("entries") and (answer["others"] or {}).get("jobs")
        return answer if waits else None

    for user, other in zip(users, reversed(users), strict=True):
        queue = await eventually(lambda user=user: answered(user), 60, "both jobs wait")
        assert [entry["namespace"] for entry in queue["entries"]] == [user.namespace]
        assert other.namespace not in json.dumps(queue)
        assert queue["others"]["jobs"] == 1
        code, printed = await shuntyard(user.kubeconfig, "queue")
        assert (code, "other namespaces: 1 job waits for 6 CPUs" in printed) == (0, True), printed
        code, printed = await shuntyard(user.kubeconfig, "queue", "-n", other.namespace)
        assert (code, "ask for the Role shuntyard-viewer" in printed) == (1, True), printed
