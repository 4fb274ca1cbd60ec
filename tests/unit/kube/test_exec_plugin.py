"""Credential plugins of kubeconfigs, run as real programs (defect B7)."""

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shared.errors import SettingsError
from shared.kube import exec_plugin, kubeconfig
from shared.kube.exec_plugin import Credential

V1, V1BETA1 = exec_plugin.VERSIONS
SECRET = "token-that-must-not-be-printed"
CLUSTER: dict[str, Any] = {"server": "https://one.example.org"}


@pytest.fixture
def plugin(tmp_path: Path) -> Callable[..., Credential]:
    """Writes a plugin, runs it as a kubeconfig orders, and returns its credential."""

    def run(script: str, cluster: dict[str, Any] = CLUSTER, **section: Any) -> Credential:
        file = tmp_path / "bin" / "plugin"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o700)
        whole = {"apiVersion": V1, "command": "bin/plugin", **section}
        user = {"exec": whole, kubeconfig.DIRECTORY: str(tmp_path)}
        return exec_plugin.get_credential(exec_plugin.plugin_of(user, cluster))

    return run


def printed(version: str = V1, kind: str = exec_plugin.KIND, **status: str) -> str:
    """A script that prints an answer."""
    body = json.dumps({"apiVersion": version, "kind": kind, "status": status})
    return f"cat <<'END'\n{body}\nEND"


@pytest.mark.parametrize("version", [V1, V1BETA1])
def test_a_plugin_gives_a_token_in_the_requested_version(
    plugin: Callable[..., Credential], version: str
) -> None:
    found = plugin(
        printed(version, token=SECRET, expirationTimestamp="2099-01-01T00:00:00Z"),
        apiVersion=version,
    )
    assert (found.token, found.certificate) == (SECRET, None)
    assert found.expires is not None
    assert found.expires.year == 2099
    assert SECRET not in repr(found)


def test_a_plugin_gives_a_client_certificate(plugin: Callable[..., Credential]) -> None:
    found = plugin(printed(clientCertificateData="CERT", clientKeyData="KEY"))
    assert (found.token, found.certificate) == (None, (b"CERT", b"KEY"))


def test_a_plugin_gets_its_arguments_and_variables(
    plugin: Callable[..., Credential], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "o")
    script = 'printf \'{"apiVersion":"%s","kind":"%s","status":{"token":"%s"}}\' '
    script += f'{V1} {exec_plugin.KIND} "$1-$2-$MORE-$OURS"'
    env = [{"name": "MORE", "value": "m"}]
    assert plugin(script, args=["a", "b c"], env=env).token == "a-b c-m-o"


def exec_info(plugin: Callable[..., Credential], **section: Any) -> Any:
    """Return the plugin's KUBERNETES_EXEC_INFO; the plugin fails with it as its last output."""
    with pytest.raises(SettingsError) as failed:
        plugin('printf "%s" "$KUBERNETES_EXEC_INFO" >&2; exit 1', **section)
    text = str(failed.value)
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


def test_a_plugin_gets_its_version_and_is_not_interactive(
    plugin: Callable[..., Credential],
) -> None:
    body = {"apiVersion": V1, "kind": exec_plugin.KIND, "spec": {"interactive": False}}
    assert exec_info(plugin) == body


def test_a_plugin_gets_the_cluster_on_request(
    plugin: Callable[..., Credential],
) -> None:
    cluster = {
        **CLUSTER,
        "certificate-authority-data": "Q0E=",
        "tls-server-name": "name",
        "proxy-url": "http://proxy:3128",
        "extensions": [
            {"name": "other", "extension": 1},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}},
        ],
    }
    spec = exec_info(plugin, cluster=cluster, provideClusterInfo=True)["spec"]
    assert spec["cluster"] == {
        **CLUSTER,
        "certificate-authority-data": "Q0E=",
        "tls-server-name": "name",
        "proxy-url": "http://proxy:3128",
        "config": {"audience": "x"},
    }


BROKEN: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "an exit status": (
        f"echo {SECRET}; echo first >&2; echo session expired >&2; exit 3",
        {},
        ("failed with exit status 3: session expired", "log in again"),
    ),
    "a failure without a word": ("exit 4", {}, ("failed with exit status 4;",)),
    "no JSON": (f"echo {SECRET}", {}, ("printed no ExecCredential",)),
    "no text": (r"printf '\377'", {}, ("printed no ExecCredential",)),
    "too much": (
        f"head -c {exec_plugin.MOST_OUTPUT_BYTES + 10} /dev/zero",
        {},
        ("printed no ExecCredential",),
    ),
    "another kind": (
        printed(kind="Secret", token=SECRET),
        {},
        ("printed Secret of", "ExecCredential of"),
    ),
    "another version": (printed(V1BETA1, token=SECRET), {}, (V1BETA1, f"of {V1} was asked")),
    "no status": (
        f'echo \'{{"apiVersion":"{V1}","kind":"ExecCredential"}}\'',
        {},
        ("neither a token nor a client certificate",),
    ),
    "a certificate without its key": (
        printed(token=SECRET, clientCertificateData="x"),
        {},
        ("a certificate without its key",),
    ),
    "a time that is none": (
        printed(token=SECRET, expirationTimestamp="soon"),
        {},
        ("expirationTimestamp",),
    ),
    "a plugin that is not installed": (
        "",
        {"command": "no-such-plugin", "installHint": "Install it:\n  pip install it\n"},
        ("exec plugin no-such-plugin is not there", "Install it: pip install it"),
    ),
    "a plugin that is not installed, without a hint": (
        "",
        {"command": "bin/other"},
        ("is not there", "install it, or put its directory on the PATH"),
    ),
    "a terminal that is not there": (
        "",
        {"interactiveMode": "Always"},
        ("reads a login from a terminal, and standard input is none",),
    ),
    "an interpreter that is not there": (
        "",
        {"command": "broken"},
        ("cannot be run: No such file or directory",),
    ),
    "a version that was removed": (
        "",
        {"apiVersion": "client.authentication.k8s.io/v1alpha1"},
        ("apiVersion 'client.authentication.k8s.io/v1alpha1' is not", "provider's tool"),
    ),
    "a mode that is none": ("", {"interactiveMode": "Maybe"}, ("interactiveMode 'Maybe'",)),
    "no command": ("", {"command": None}, ("$.command",)),
    "arguments that are none": ("", {"args": "get-token"}, ("$.args",)),
}


@pytest.mark.parametrize(("script", "section", "words"), BROKEN.values(), ids=BROKEN.keys())
def test_errors_have_a_hint_and_no_token(
    plugin: Callable[..., Credential],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    section: dict[str, Any],
    words: tuple[str, ...],
) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SettingsError) as failed:
        plugin(script, **section)
    message = str(failed.value)
    assert message.startswith("kubeconfig: ")
    assert [word for word in words if word not in message] == []
    assert SECRET not in message


def test_a_plugin_that_does_not_end_is_killed(
    plugin: Callable[..., Credential], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exec_plugin, "PLUGIN_SECONDS", 0.5)
    with pytest.raises(SettingsError, match=r"gave no answer in .* s") as failed:
        plugin("exec sleep 1000")
    assert "run it by hand" in str(failed.value)


def test_a_child_process_of_a_plugin_does_not_block(
    plugin: Callable[..., Credential], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exec_plugin, "_DRAIN_SECONDS", 0.5)
    assert plugin(f"sleep 20 &\n{printed(token=SECRET)}").token == SECRET


class _Terminal:
    """A terminal, as far as a standard stream says."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def test_at_a_terminal_a_plugin_may_prompt_for_a_login(
    plugin: Callable[..., Credential], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = _Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    assert plugin(f"echo open a browser >&2\n{printed(token=SECRET)}").token == SECRET
    assert screen.text == "open a browser\n"


def test_the_client_library_understands_a_plugin_in_the_same_way(tmp_path: Path) -> None:
    """``kubernetes`` runs the same plugin: it gets the same input, and returns the same token."""
    provider: Any = importlib.import_module("kubernetes.config.exec_provider")
    kube_config: Any = importlib.import_module("kubernetes.config.kube_config")
    asked, file = tmp_path / "asked", tmp_path / "plugin"
    file.write_text(f'#!/bin/sh\necho "$KUBERNETES_EXEC_INFO" >> {asked}\n{printed(token=SECRET)}')
    file.chmod(0o700)
    section = {"apiVersion": V1, "command": str(file), "args": ["x"], "env": None}
    theirs = provider.ExecProvider(kube_config.ConfigNode("exec", section), None).run()
    user = {"exec": section, kubeconfig.DIRECTORY: str(tmp_path)}
    assert exec_plugin.get_credential(exec_plugin.plugin_of(user, CLUSTER)).token == theirs["token"]
    first, second = map(json.loads, asked.read_text().splitlines())
    assert first == second
