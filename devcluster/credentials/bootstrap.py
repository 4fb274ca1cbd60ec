"""Certificates, kubeconfigs and roles of a new cluster."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from devcluster import api
from devcluster.credentials import kubeconfigs, roles
from devcluster.credentials.certificates import Authority, create_signing_key
from devcluster.errors import DevclusterError
from devcluster.local.layout import Layout
from shared.clock import Clock
from shared.kube import paths
from shared.kube.client import KubeClient

DEPLOY: Final = Path(__file__).parents[2] / "deploy"
"""Our manifests, beside this package in the repository; a wheel does not have them."""

_BASE: Final = (
    "namespaces.yaml",
    "crd.yaml",
    "rbac.yaml",
    "rbac-kinds.yaml",
    "certificates.yaml",
    "admission.yaml",
    "our-keys.yaml",
    "viewer.yaml",
    "flow-control.yaml",
)

_USERS: Final = (
    "system:kube-controller-manager",
    "system:kube-scheduler",
    roles.KWOK_USER,
    roles.PROCESS_NODES_USER,
)
_ACCOUNT_SECONDS: Final = 60.0


def create_identities(layout: Layout, server: str, clock: Clock) -> None:
    """Create CA, server certificate, service-account keys and a kubeconfig for every user."""
    authority = Authority.create(layout.pki, clock)
    create_signing_key(layout.pki)
    authority.issue_server("server")
    authority.issue_client("etcd-client", "kube-apiserver")
    authority.issue_client("kubelet-client", "shuntyard:kubelet-client", ("system:masters",))
    admin = authority.issue_client("admin", "shuntyard:admin", ("system:masters",))
    kubeconfigs.write_for_certificate(layout.kubeconfig, server, layout.authority, "admin", admin)
    for user in _USERS:
        write_user(layout, authority, server, user)


def write_user(
    layout: Layout, authority: Authority, server: str, user: str, groups: tuple[str, ...] = ()
) -> Path:
    """Issue a client certificate and write the user's kubeconfig."""
    file = layout.user_kubeconfig(user)
    pair = authority.issue_client(file.stem, user, groups)
    return kubeconfigs.write_for_certificate(file, server, layout.authority, user, pair)


async def prepare(client: KubeClient) -> None:
    """Apply the nodes' roles and wait until pods can be created in the namespace ``default``."""
    await api.apply(client, roles.manifests())
    account = paths.namespaced("/api/v1/serviceaccounts", "default", "default")
    await api.wait_for(client, account, _ACCOUNT_SECONDS)


def base_manifests() -> list[Mapping[str, Any]]:
    """Return the manifests of ``deploy/base`` without those whose programs run as processes here.

    Raises:
        DevclusterError: This is not a checkout of the repository.
    """
    given = [one for name in _BASE for one in deploy_manifests(f"base/{name}")]
    return [*given, *roles.scheduler(deploy_manifests("base/rbac-scheduler.yaml"))]


def gate_manifests() -> list[Mapping[str, Any]]:
    """Return the manifests of ``deploy/components/gate``.

    Raises:
        DevclusterError: This is not a checkout of the repository.
    """
    files = ("waiting.yaml", "policy.yaml")  # the policy reads what the first one has
    return [one for name in files for one in deploy_manifests(f"components/gate/{name}")]


def deploy_manifests(name: str) -> list[Mapping[str, Any]]:
    """Return the documents of a file under ``deploy/``.

    Raises:
        DevclusterError: There is no such file: this is not a checkout of the repository.
    """
    file = DEPLOY / name
    try:
        return list(yaml.safe_load_all(file.read_text()))
    except FileNotFoundError:
        message = f"{file} is missing; the extender's manifests are in the repository only"
        raise DevclusterError(message) from None
