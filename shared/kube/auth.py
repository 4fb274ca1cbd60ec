"""Who we are to the API server: from a kubeconfig or from inside a pod.

The kubeconfig is read directly: what we need of it is the cluster's address and CA and the user's
certificate or token. The ``kubernetes`` package (43 MiB) is imported for exec plugins only.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from ssl import CERT_NONE, SSLContext, SSLError, create_default_context
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
        ssl: CA and client certificate; None for plain http.
        token: Gives the bearer token to send now; None where there is none.
        server_name: Name expected in the server's certificate if it is not the host's.
        namespace: Where whoever it is works, as the context or the pod says; None if it does not.
    """

    server: str
    ssl: SSLContext | None = None
    token: TokenSource = field(default_factory=FixedToken)
    server_name: str | None = None
    namespace: str | None = None


def load(
    path: Path | None = None,
    context: str | None = None,
    *,
    unverified_allowed: bool = False,
    service_account: Path = SERVICE_ACCOUNT,
) -> Credentials:
    """Return the first credentials found: ``path``, ``KUBECONFIG``, in-cluster, ``~/.kube/config``.

    Blocks for file reads: call it before the event loop does anything urgent.

    Args:
        path: A kubeconfig.
        context: A context of the kubeconfig; default: its current one.
        unverified_allowed: Whether a kubeconfig may say that the server's certificate is not
            checked; a service never allows that.
        service_account: Directory of a pod's service account files.

    Raises:
        SettingsError: There are none, or they ask for something we do not do.
    """
    named = os.environ.get("KUBECONFIG", "")
    default = Path.home() / ".kube" / "config"
    if path is not None:
        files = [path]
    elif named:
        files = [Path(part) for part in named.split(os.pathsep) if part]
    elif "KUBERNETES_SERVICE_HOST" in os.environ and (service_account / "token").exists():
        return _in_cluster(service_account)
    elif default.exists():
        files = [default]
    else:
        raise SettingsError(
            f"no credentials: KUBECONFIG is not set, {default} does not exist, and this is no pod "
            "with a service account"
        )
    return _from_context(kubeconfig.read(files, context, unverified_allowed=unverified_allowed))


def _in_cluster(files: Path) -> Credentials:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    address = f"[{host}]" if ":" in host else host
    namespace = files / "namespace"
    return Credentials(
        server=f"https://{address}:{port}",
        ssl=create_default_context(cafile=files / "ca.crt"),
        token=FileToken(files / "token"),
        namespace=namespace.read_text(encoding="utf-8").strip() if namespace.exists() else None,
    )


def _from_context(found: kubeconfig.Context) -> Credentials:
    cluster, user = found.cluster, found.user
    server = str(cluster.get("server", "")).rstrip("/")
    if not server.startswith(("http://", "https://")):
        raise SettingsError(f"kubeconfig: server {server!r} is not an http or https URL")
    return Credentials(
        server=server,
        ssl=_ssl_context(cluster, user) if server.startswith("https://") else None,
        token=_token(user),
        server_name=cluster.get("tls-server-name"),
        namespace=found.namespace,
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
    if cluster.get(kubeconfig.SKIP_VERIFY):  # only where `read` was told that it is allowed
        tls.check_hostname, tls.verify_mode = False, CERT_NONE
    return tls


def _token(user: dict[str, Any]) -> TokenSource:
    if "token" in user:
        return FixedToken(user["token"])
    if "tokenFile" in user:
        return FileToken(Path(user["tokenFile"]))
    if "exec" in user:
        return ExecToken(user["exec"], Path(user[kubeconfig.DIRECTORY]))
    return FixedToken()
