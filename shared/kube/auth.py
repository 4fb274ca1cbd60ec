"""Credentials for the API server: from a kubeconfig or from inside a pod.

The kubeconfig is read directly: we need the cluster's address and CA, the user's certificate, token
or credential plugin, and the impersonated user.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from ssl import CERT_NONE, SSLContext, SSLError, create_default_context
from typing import Any, Final
from urllib.parse import quote, urlsplit

from shared.errors import SettingsError
from shared.kube import exec_plugin, kubeconfig
from shared.kube.tokens import ExecToken, FileToken, FixedToken, TokenSource

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True)
class Credentials:
    """Address of the API server, and how we authenticate.

    Attributes:
        server: Base URL without trailing slash.
        ssl: CA and client certificate; None for plain http.
        token: Returns the bearer token to send now; None if there is none.
        server_name: Name expected in the server's certificate if it is not the host's.
        namespace: Namespace of the context or the pod; None if there is none.
        proxy: URL of an HTTP proxy; None if there is none.
        headers: Sent with every request: the impersonated user.
    """

    server: str
    ssl: SSLContext | None = None
    token: TokenSource = field(default_factory=FixedToken)
    server_name: str | None = None
    namespace: str | None = None
    proxy: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def bearer(self) -> str | None:
        """Return the token that authenticates us to other servers; may block, as ``token`` does.

        None if we use other credentials, such as a certificate, and if we impersonate a user: the
        token would have all our own rights.

        Raises:
            SettingsError: A credential plugin returned none.
            OSError: The token's file cannot be read.
        """
        return None if self.headers else self.token()


def load(
    path: Path | None = None,
    context: str | None = None,
    *,
    unverified_allowed: bool = False,
    service_account: Path = SERVICE_ACCOUNT,
) -> Credentials:
    """Return the first credentials found: ``path``, ``KUBECONFIG``, in-cluster, ``~/.kube/config``.

    Blocks on file reads: call it before the event loop does anything urgent.

    Args:
        path: A kubeconfig.
        context: A context of the kubeconfig; default: its current one.
        unverified_allowed: Whether a kubeconfig may disable verification of the server's
            certificate; a service never allows that.
        service_account: Directory of a pod's service account files.

    Raises:
        SettingsError: There are none, or they have an unsupported setting.
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
    return _from_context(
        kubeconfig.read_context(files, context, unverified_allowed=unverified_allowed)
    )


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


def _from_context(context: kubeconfig.Context) -> Credentials:
    cluster, user = context.cluster, context.user
    server = str(cluster.get("server", "")).rstrip("/")
    if not server.startswith(("http://", "https://")):
        raise SettingsError(f"kubeconfig: server {server!r} is not an http or https URL")
    tls = _ssl_context(cluster, user) if server.startswith("https://") else None
    return Credentials(
        server=server,
        ssl=tls,
        token=_token(context, tls),
        server_name=cluster.get("tls-server-name"),
        namespace=context.namespace,
        proxy=_proxy(cluster),
        headers=tuple(_impersonation(user)),
    )


def _ssl_context(cluster: dict[str, Any], user: dict[str, Any]) -> SSLContext:
    authority = kubeconfig.pem(cluster, "certificate-authority")
    try:
        tls = create_default_context(cadata=authority.decode() if authority else None)
        certificate = kubeconfig.pem(user, "client-certificate")
        if certificate is not None:
            _use_certificate(tls, certificate, kubeconfig.pem(user, "client-key"))
    except SSLError as error:
        raise SettingsError(f"kubeconfig: certificate or key cannot be used: {error}") from error
    if cluster.get(kubeconfig.SKIP_VERIFY):  # `read_context` has checked that it is allowed
        tls.check_hostname, tls.verify_mode = False, CERT_NONE
    return tls


def _use_certificate(tls: SSLContext, certificate: bytes, key: bytes | None) -> None:
    """Use a client certificate for new connections."""
    with kubeconfig.as_files(certificate, key) as pair:
        tls.load_cert_chain(*pair)


def _token(context: kubeconfig.Context, tls: SSLContext | None) -> TokenSource:
    """Return the source of the user's token; a plugin is used if nothing else is configured."""
    user = context.user
    if user.get("tokenFile"):
        return FileToken(Path(user["tokenFile"]))
    if user.get("token"):
        return FixedToken(user["token"])
    own = user.get("client-certificate") or user.get("client-certificate-data")
    if not user.get("exec") or own:
        return FixedToken()

    def use(certificate: bytes, key: bytes) -> None:
        if tls is None:
            raise SettingsError("kubeconfig: exec: a client certificate needs an https server")
        try:
            _use_certificate(tls, certificate, key)
        except SSLError as error:
            problem = "the certificate or key of its plugin cannot be used"
            raise SettingsError(f"kubeconfig: exec: {problem}: {error}") from error

    return ExecToken(exec_plugin.plugin_of(user, context.cluster), use)


def _proxy(cluster: dict[str, Any]) -> str | None:
    url = cluster.get("proxy-url")
    if not url:
        return None
    parts = urlsplit(str(url))
    if parts.scheme != "http" or not parts.hostname:  # it may have a password: do not show it
        raise SettingsError("kubeconfig: proxy-url is not http://HOST:PORT, the one kind supported")
    return str(url)


def _impersonation(user: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the impersonation headers.

    Source:
        https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/
    """
    impersonated = {"Impersonate-User": [user.get("as")], "Impersonate-Uid": [user.get("as-uid")]}
    impersonated["Impersonate-Group"] = user.get("as-groups") or []
    for key, texts in (user.get("as-user-extra") or {}).items():
        impersonated[f"Impersonate-Extra-{quote(str(key), safe='')}"] = texts
    headers = [(name, str(text)) for name, texts in impersonated.items() for text in texts if text]
    if headers and not user.get("as"):
        raise SettingsError(
            "kubeconfig: as is missing: as-uid, as-groups and as-user-extra need it"
        )
    for name, text in headers:
        if not text.isascii() or not text.isprintable():
            raise SettingsError(f"kubeconfig: {text!r} cannot be sent as {name}")
        yield name, text
