"""Who we are to the API server: from a kubeconfig or from inside a pod.

The kubeconfig is read directly: what we need of it is the cluster's address and CA and the user's
certificate or token. The ``kubernetes`` package (43 MiB) is imported for exec plugins only.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext, SSLError, create_default_context
from typing import Any, Final

from shared.errors import SettingsError
from shared.kube import kubeconfig
from shared.kube.tokens import ExecToken, FileToken, FixedToken, TokenSource

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True)
class Credentials:
    """How to reach the API server and how to prove who we are.

    Attributes:
        server: Base URL without trailing slash.
        ssl: CA and client certificate; None for plain http. Certificates are always checked.
        token: Gives the bearer token to send now; None where there is none.
        server_name: Name expected in the server's certificate if it is not the host's.
    """

    server: str
    ssl: SSLContext | None = None
    token: TokenSource = field(default_factory=FixedToken)
    server_name: str | None = None


def load(
    path: Path | None = None,
    context: str | None = None,
    *,
    service_account: Path = SERVICE_ACCOUNT,
) -> Credentials:
    """Return the first credentials found: ``path``, ``KUBECONFIG``, in-cluster, ``~/.kube/config``.

    Blocks for file reads: call it before the event loop does anything urgent.

    Args:
        path: A kubeconfig.
        context: A context of the kubeconfig; default: its current one.
        service_account: Directory of a pod's service account files.

    Raises:
        SettingsError: There are none, or they ask for something we do not do.
    """
    named = os.environ.get("KUBECONFIG", "")
    default = Path.home() / ".kube" / "config"
    if path is not None:
        return _from_kubeconfig([path], context)
    if named:
        return _from_kubeconfig([Path(part) for part in named.split(os.pathsep) if part], context)
    if "KUBERNETES_SERVICE_HOST" in os.environ and (service_account / "token").exists():
        return _in_cluster(service_account)
    if default.exists():
        return _from_kubeconfig([default], context)
    raise SettingsError(
        f"no credentials: KUBECONFIG is not set, {default} does not exist, and this is no pod "
        "with a service account"
    )


def _in_cluster(files: Path) -> Credentials:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    address = f"[{host}]" if ":" in host else host
    return Credentials(
        server=f"https://{address}:{port}",
        ssl=create_default_context(cafile=files / "ca.crt"),
        token=FileToken(files / "token"),
    )


def _from_kubeconfig(files: list[Path], context: str | None) -> Credentials:
    cluster, user = kubeconfig.read(files, context)
    server = str(cluster.get("server", "")).rstrip("/")
    if not server.startswith(("http://", "https://")):
        raise SettingsError(f"kubeconfig: server {server!r} is not an http or https URL")
    return Credentials(
        server=server,
        ssl=_ssl_context(cluster, user) if server.startswith("https://") else None,
        token=_token(user),
        server_name=cluster.get("tls-server-name"),
    )


def _ssl_context(cluster: dict[str, Any], user: dict[str, Any]) -> SSLContext:
    authority = kubeconfig.pem(cluster, "certificate-authority")
    try:
        tls = create_default_context(cadata=authority.decode() if authority else None)
        certificate = kubeconfig.pem(user, "client-certificate")
        if certificate is not None:
            with kubeconfig.as_files(certificate, kubeconfig.pem(user, "client-key")) as pair:
                tls.load_cert_chain(*pair)
    except SSLError as error:
        raise SettingsError(f"kubeconfig: certificate or key cannot be used: {error}") from error
    return tls


def _token(user: dict[str, Any]) -> TokenSource:
    if "token" in user:
        return FixedToken(user["token"])
    if "tokenFile" in user:
        return FileToken(Path(user["tokenFile"]))
    if "exec" in user:
        return ExecToken(user["exec"], Path(user[kubeconfig.DIRECTORY]))
    return FixedToken()
