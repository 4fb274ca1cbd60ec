"""Credential plugins of kubeconfigs (``exec``): how EKS, GKE, AKS and OIDC logins give tokens.

What a plugin prints on standard output is a secret: nothing of it is ever put into an error.

Source:
    https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
    and client-go v0.36.3, plugin/pkg/client/auth/exec/exec.go.
"""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import IO, Any, Final

import msgspec
from msgspec import Struct
from typing_extensions import override

from shared.errors import SettingsError
from shared.kube import kubeconfig

PLUGIN_SECONDS: Final = 60.0
"""Time limit of a plugin without a terminal; those of clouds take about a second."""
LOGIN_SECONDS: Final = 600.0
"""Time limit at a terminal: a person may have to log in with a browser."""
MOST_OUTPUT_BYTES: Final = 2**20
"""Size of its output; a token or a certificate with its key has a few kilobytes."""
_DRAIN_SECONDS: Final = 1.0
"""Wait for the rest of the output: a child of an ended plugin may keep it open."""
VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
KIND: Final = "ExecCredential"
_INFO: Final = "KUBERNETES_EXEC_INFO"
_EXTENSION: Final = "client.authentication.k8s.io/exec"
_CLUSTER_KEYS: Final = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url")
_MOST_HINT: Final = 500
"""Characters of an ``installHint`` that are shown; some have whole pages."""


@dataclass(frozen=True)
class PluginResult:
    """Result of a plugin's process.

    Attributes:
        status: Exit status, below 0 minus the signal; None if it took too long and was killed.
        output: What it printed on standard output; ``MOST_OUTPUT_BYTES`` at most.
        last_line: The last line on standard error; empty if there is none.
        seconds: The time limit.
    """

    status: int | None
    output: bytes
    last_line: str
    seconds: float


def at_terminal(stream: object) -> bool:
    """Return True if a standard stream is a terminal."""
    isatty = getattr(stream, "isatty", None)
    return bool(isatty and isatty())


def run_plugin(
    argv: Sequence[str], environ: Mapping[str, str], *, interactive: bool
) -> PluginResult:
    """Run a plugin to its end.

    Its standard error is shown immediately at a terminal: it may ask for a login.

    Args:
        argv: The program's path and its arguments.
        environ: Its environment.
        interactive: Whether it may read our standard input.

    Raises:
        OSError: It cannot be started.
    """
    shows = at_terminal(sys.stderr)
    seconds = LOGIN_SECONDS if interactive or shows else PLUGIN_SECONDS
    process = subprocess.Popen(  # noqa: S603 - the user's kubeconfig names it, as for kubectl
        argv, env=environ, stdin=None if interactive else DEVNULL, stdout=PIPE, stderr=PIPE
    )
    output, errors = _Reader(process.stdout), _Reader(process.stderr, shows=shows)
    status: int | None
    try:
        status = process.wait(seconds)
    except BaseException as error:  # also Ctrl-C: it must not keep running
        process.kill()
        process.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        status = None
    for reader in (output, errors):
        reader.join(_DRAIN_SECONDS)
    lines = errors.read.decode(errors="replace").split("\n")
    last_line = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return PluginResult(status, output.read, last_line, seconds)


class _Reader(threading.Thread):
    """Reads a pipe to its end, so that its writer never blocks."""

    def __init__(self, pipe: IO[bytes] | None, *, shows: bool = False) -> None:
        super().__init__(daemon=True)
        self.read = b""
        self._pipe, self._shows = pipe, shows
        self.start()

    @override
    def run(self) -> None:
        if self._pipe is None:
            return
        with self._pipe:
            while chunk := os.read(self._pipe.fileno(), 65536):
                self.read = (self.read + chunk)[-MOST_OUTPUT_BYTES:]
                if self._shows:
                    sys.stderr.write(chunk.decode(errors="replace"))
                    sys.stderr.flush()


class _Variable(Struct):
    name: str
    value: str = ""


class _Section(Struct, rename="camel"):
    """The ``exec`` section of a kubeconfig's user."""

    command: str
    api_version: str
    args: list[str] | None = None
    env: list[_Variable] | None = None
    install_hint: str | None = None
    interactive_mode: str | None = None
    provide_cluster_info: bool = False


class _Status(Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Answer(Struct, rename="camel"):
    """What a plugin prints."""

    api_version: str
    kind: str
    status: _Status | None = None


@dataclass(frozen=True)
class Plugin:
    """A plugin, as configured in a kubeconfig.

    Attributes:
        version: API version of the request and the response.
        command: Program, searched on the ``PATH`` if it has no directory.
        environ: Environment variables added to ours.
        hint: How to install it; may be empty.
        mode: ``Never``, ``IfAvailable`` or ``Always``: whether it reads our standard input.
        cluster: Cluster information passed to it; None if it does not need any.
    """

    version: str
    command: str
    args: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    hint: str = ""
    mode: str = "IfAvailable"
    cluster: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Credential:
    """Credential returned by a plugin.

    Attributes:
        token: Bearer token; None if there is none.
        certificate: Client certificate and its key, PEM; None if there is none.
        expires: When to run the plugin again; None if it does not say.
    """

    token: str | None = field(default=None, repr=False)
    certificate: tuple[bytes, bytes] | None = field(default=None, repr=False)
    expires: datetime | None = None


def plugin_of(user: Mapping[str, Any], cluster: kubeconfig.Section) -> Plugin:
    """Return the plugin of a user of a kubeconfig.

    Args:
        user: Section of the user; it has ``exec``.
        cluster: Section of the cluster that the context names.

    Raises:
        SettingsError: The section cannot be used; the message names the field.
    """
    try:
        section = msgspec.convert(user["exec"], _Section)
    except msgspec.ValidationError as error:
        raise SettingsError(f"kubeconfig: exec: {error}") from error
    if section.api_version not in VERSIONS:
        hint = "write the kubeconfig anew with your provider's tool"
        problem = f"exec: apiVersion {section.api_version!r} is not {' or '.join(VERSIONS)}"
        raise SettingsError(f"kubeconfig: {problem}: {hint}")
    mode = section.interactive_mode or "IfAvailable"
    if mode not in {"Never", "IfAvailable", "Always"}:
        expected = "Never, IfAvailable or Always"
        raise SettingsError(f"kubeconfig: exec: interactiveMode {mode!r} is not {expected}")
    command = section.command
    if os.sep in command:  # a bare name is searched on the PATH
        command = str(Path(user[kubeconfig.DIRECTORY]) / command)
    return Plugin(
        version=section.api_version,
        command=command,
        args=tuple(section.args or ()),
        environ={variable.name: variable.value for variable in section.env or ()},
        hint=section.install_hint or "",
        mode=mode,
        cluster=_described(cluster) if section.provide_cluster_info else None,
    )


def get_credential(plugin: Plugin) -> Credential:
    """Run a plugin and return its credential; takes a second, or as long as a login.

    Raises:
        SettingsError: It is missing, failed, or printed something else. The message has nothing of
            its standard output.
    """
    is_terminal = at_terminal(sys.stdin)
    if plugin.mode == "Always" and not is_terminal:
        raise _problem(plugin, "reads a login from a terminal, and standard input is none")
    interactive = is_terminal and plugin.mode != "Never"
    program = shutil.which(plugin.command)
    if program is None:
        shown = " ".join(plugin.hint.split())[:_MOST_HINT]
        hint = shown or "install it, or put its directory on the PATH"
        raise _problem(plugin, f"is not there, or cannot be run: {hint}")
    environ = {**os.environ, **plugin.environ, _INFO: _info(plugin, interactive=interactive)}
    try:
        result = run_plugin([program, *plugin.args], environ, interactive=interactive)
    except OSError as error:
        raise _problem(plugin, f"cannot be run: {error.strerror or error}") from error
    return _credential(plugin, result)


def _credential(plugin: Plugin, result: PluginResult) -> Credential:
    detail = f": {result.last_line}" if result.last_line else ""
    if result.status is None:
        hint = "run it by hand to see what it waits for"
        raise _problem(plugin, f"gave no answer in {result.seconds:.0f} s{detail}; {hint}")
    if result.status:
        hint = "run it by hand, or log in again"
        raise _problem(plugin, f"failed with exit status {result.status}{detail}; {hint}")
    try:
        answer = msgspec.json.decode(result.output, type=_Answer)
    except ValueError as error:  # no JSON, no UTF-8, or other fields; its text has no value of them
        raise _problem(plugin, f"printed no {KIND}: {error}") from error
    if (answer.kind, answer.api_version) != (KIND, plugin.version):
        printed = f"{answer.kind} of {answer.api_version}"
        raise _problem(plugin, f"printed {printed[:100]}, and {KIND} of {plugin.version} was asked")
    status = answer.status or _Status()
    pair = (status.client_certificate_data.encode(), status.client_key_data.encode())
    if any(pair) and not all(pair):
        raise _problem(plugin, "gave a certificate without its key, or a key without a certificate")
    if not status.token and not all(pair):
        raise _problem(plugin, "gave neither a token nor a client certificate")
    certificate = pair if all(pair) else None
    return Credential(status.token or None, certificate, status.expiration_timestamp)


def _info(plugin: Plugin, *, interactive: bool) -> str:
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.cluster is not None:
        spec["cluster"] = plugin.cluster
    body = {"apiVersion": plugin.version, "kind": KIND, "spec": spec}
    return msgspec.json.encode(body).decode()


def _described(cluster: kubeconfig.Section) -> Mapping[str, Any]:
    """Return cluster information for a plugin: its section, with the authority as data."""
    described = {key: cluster[key] for key in _CLUSTER_KEYS if cluster.get(key)}
    authority = kubeconfig.pem(cluster, "certificate-authority")
    if authority is not None:
        described["certificate-authority-data"] = authority  # msgspec writes bytes as base64
    for extension in cluster.get("extensions") or ():
        if extension.get("name") == _EXTENSION:
            described["config"] = extension.get("extension")
    return described


def _problem(plugin: Plugin, text: str) -> SettingsError:
    return SettingsError(f"kubeconfig: its exec plugin {plugin.command} {text}")
