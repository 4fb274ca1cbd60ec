import base64
import json
import ssl
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from shared.errors import SettingsError
from shared.kube import auth, tokens
from shared.kube.tokens import ExecToken, FileToken

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def pair() -> tuple[bytes, bytes]:
    """A self-signed certificate and its key, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(START)
        .not_valid_after(START + timedelta(days=36500))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the credentials of this machine."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def kubeconfig(
    path: Path, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None
) -> Path:
    cluster = {"server": "https://one.example.org:6443/", **(cluster or {})}
    document = {
        "current-context": "one",
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u"}},
            {"name": "anonymous", "context": {"cluster": "c"}},
        ],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user or {}}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document))
    return path


def data(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def test_a_kubeconfig_with_data(tmp_path: Path, pair: tuple[bytes, bytes]) -> None:
    certificate, key = pair
    path = kubeconfig(
        tmp_path / "config",
        {"certificate-authority-data": data(certificate), "tls-server-name": "other"},
        {
            "client-certificate-data": data(certificate),
            "client-key-data": data(key),
            "token": "secret",
        },
    )
    credentials = auth.load(path)
    assert credentials.server == "https://one.example.org:6443"
    assert credentials.ssl is not None
    assert credentials.ssl.verify_mode is ssl.CERT_REQUIRED
    assert credentials.ssl.check_hostname
    assert len(credentials.ssl.get_ca_certs()) == 1
    assert credentials.server_name == "other"
    assert credentials.token() == "secret"


def test_a_context_has_a_namespace(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config")
    assert auth.load(path).namespace is None
    document = yaml.safe_load(path.read_text())
    document["contexts"][0]["context"]["namespace"] = "team-a"
    path.write_text(yaml.safe_dump(document))
    assert auth.load(path).namespace == "team-a"


def test_a_certificate_goes_unchecked_only_where_that_is_allowed(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", {"insecure-skip-tls-verify": True})
    with pytest.raises(SettingsError, match="insecure-skip-tls-verify"):
        auth.load(path)
    credentials = auth.load(path, unverified_allowed=True)
    assert credentials.ssl is not None
    assert credentials.ssl.verify_mode is ssl.CERT_NONE
    assert not credentials.ssl.check_hostname


def test_files_are_relative_to_the_kubeconfig(tmp_path: Path, pair: tuple[bytes, bytes]) -> None:
    (tmp_path / "pki").mkdir()
    for name, content in (("ca.crt", pair[0]), ("me.crt", pair[0]), ("me.key", pair[1])):
        (tmp_path / "pki" / name).write_bytes(content)
    (tmp_path / "pki" / "token").write_text("secret\n")
    path = kubeconfig(
        tmp_path / "config",
        {"certificate-authority": "pki/ca.crt"},
        {
            "client-certificate": "pki/me.crt",
            "client-key": "pki/me.key",
            "tokenFile": "pki/token",
        },
    )
    assert auth.load(path).token() == "secret"


def test_plain_http_has_no_tls(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", {"server": "http://127.0.0.1:8080"})
    assert auth.load(path).ssl is None


def test_a_context_without_a_user_is_anonymous(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", user={"token": "secret"})
    assert auth.load(path, "anonymous").token() is None


def test_the_first_entry_of_several_files_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tmp_path / "first"
    first.write_text(
        yaml.safe_dump({"clusters": [{"name": "c", "cluster": {"server": "https://first"}}]})
    )
    second = kubeconfig(tmp_path / "second", user={"token": "secret"})
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'missing'}:{first}:{second}")
    credentials = auth.load()
    assert credentials.server == "https://first"
    assert credentials.token() == "secret"


def test_an_explicit_path_wins_over_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    assert auth.load(kubeconfig(tmp_path / "config")).server == "https://one.example.org:6443"


def test_in_a_pod_the_service_account_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pair: tuple[bytes, bytes]
) -> None:
    kubeconfig(tmp_path / "home" / ".kube" / "config")
    (tmp_path / "ca.crt").write_bytes(pair[0])
    (tmp_path / "token").write_text("projected")
    (tmp_path / "namespace").write_text("team-a")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    credentials = auth.load(service_account=tmp_path)
    assert credentials.server == "https://[fd00::1]:443"
    assert credentials.token() == "projected"
    assert credentials.namespace == "team-a"


def test_the_last_resort_is_the_home_directory(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no credentials"):
        auth.load()
    kubeconfig(tmp_path / "home" / ".kube" / "config")
    assert auth.load().server == "https://one.example.org:6443"


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "skip-verify": ({"insecure-skip-tls-verify": True}, {}, "insecure-skip-tls-verify"),
    "a proxy of another kind": ({"proxy-url": "socks5://proxy"}, {}, "proxy-url is not http"),
    "an auth provider": ({}, {"auth-provider": {"name": "gcp"}}, "use an exec plugin"),
    "password": ({}, {"username": "me", "password": "x"}, "username"),
    "groups without a user": ({}, {"as-groups": ["g"]}, "as is missing"),
    "a name that no header can have": ({}, {"as": "a\nb"}, "Impersonate-User"),
    "no server": ({"server": ""}, {}, "not an http"),
    "no base64": ({"certificate-authority-data": "%"}, {}, "certificate-authority"),
    "no such file": ({"certificate-authority": "missing.crt"}, {}, "certificate-authority"),
    "no certificate": ({"certificate-authority-data": data(b"x")}, {}, "cannot be used"),
}


@pytest.mark.parametrize(("cluster", "user", "words"), REFUSED.values(), ids=REFUSED)
def test_an_unsupported_option_is_refused_by_name(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        auth.load(kubeconfig(tmp_path / "config", cluster, user))


def test_a_missing_context_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no context named 'two'"):
        auth.load(kubeconfig(tmp_path / "config"), "two")


@pytest.mark.parametrize("text", ["- a list", "{", "\x00"])
def test_a_file_that_is_no_kubeconfig_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(SettingsError, match="config"):
        auth.load(tmp_path / "config")


def test_a_token_file_is_read_again_after_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    token = FileToken(file)
    assert token() == "old"
    file.write_text("new")
    assert not token.due()
    assert token() == "old"
    monkeypatch.setattr(tokens, "REREAD_SECONDS", 0.0)
    assert token.due()
    assert token() == "new"


def test_a_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    token = FileToken(file)
    assert token() == "old"
    file.write_text("new")
    token.expire()
    assert token.due()
    assert token() == "new"


PLUGIN = """#!/bin/sh
echo run >> {count}
echo '{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {{"token": "from plugin"{expires}}}}}'
"""


@pytest.mark.parametrize(
    ("expires", "runs"), [("", 1), (', "expirationTimestamp": "2099-01-01T00:00:00Z"', 1)]
)
def test_an_exec_plugin_runs_once_until_its_token_is_refused(
    tmp_path: Path, expires: str, runs: int
) -> None:
    count = tmp_path / "count"
    plugin = tmp_path / "plugin"
    plugin.write_text(PLUGIN.format(count=count, expires=expires))
    plugin.chmod(0o700)
    token = auth.load(kubeconfig(tmp_path / "config", user=plugin_user(plugin))).token
    assert isinstance(token, ExecToken)
    assert [token(), token()] == ["from plugin"] * 2
    assert len(count.read_text().split()) == runs
    token.expire()
    assert token() == "from plugin"
    assert len(count.read_text().split()) == runs + 1


def plugin_user(command: Path) -> dict[str, Any]:
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": str(command), "args": [], "env": None}}


FAILING: dict[str, tuple[str | None, str]] = {
    "it is not there": (None, "is not there"),
    "it says no": ("echo log in first >&2; exit 3", "log in first"),
    "it says something else": ("echo hello", "printed no ExecCredential"),
}


@pytest.mark.parametrize(("script", "words"), FAILING.values(), ids=FAILING.keys())
def test_a_failing_exec_plugin_gives_an_error_of_one_sentence(
    tmp_path: Path, script: str | None, words: str
) -> None:
    plugin = tmp_path / "plugin"
    if script is not None:
        plugin.write_text(f"#!/bin/sh\n{script}\n")
        plugin.chmod(0o700)
    token = auth.load(kubeconfig(tmp_path / "config", user=plugin_user(plugin))).token
    with pytest.raises(SettingsError, match=words):
        token()


def test_an_exec_plugin_needs_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """We run it ourselves: the command is shipped without a client library (defect B7)."""
    monkeypatch.setitem(sys.modules, "kubernetes.config.exec_provider", None)
    plugin = tmp_path / "plugin"
    plugin.write_text(PLUGIN.format(count=tmp_path / "count", expires=""))
    plugin.chmod(0o700)
    credentials = auth.load(kubeconfig(tmp_path / "config", user=plugin_user(plugin)))
    assert credentials.bearer() == "from plugin"


def test_a_token_counts_before_a_plugin_and_its_file_before_both(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from file")
    user = {**plugin_user(tmp_path / "missing"), "token": "stated"}
    assert auth.load(kubeconfig(tmp_path / "config", user=user)).bearer() == "stated"
    user["tokenFile"] = "token"
    assert auth.load(kubeconfig(tmp_path / "config", user=user)).bearer() == "from file"


def test_an_impersonating_user_shows_no_own_token_to_other_servers(tmp_path: Path) -> None:
    user = {
        "token": "secret",
        "as": "you",
        "as-uid": "7",
        "as-groups": ["a", "b"],
        "as-user-extra": {"example.org/team x": ["red"]},
    }
    credentials = auth.load(kubeconfig(tmp_path / "config", user=user))
    assert (credentials.token(), credentials.bearer()) == ("secret", None)
    assert sorted(credentials.headers) == [
        ("Impersonate-Extra-example.org%2Fteam%20x", "red"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-User", "you"),
    ]


def test_a_plugins_certificate_is_for_https_alone(
    tmp_path: Path, pair: tuple[bytes, bytes]
) -> None:
    body = {"clientCertificateData": pair[0].decode(), "clientKeyData": pair[1].decode()}
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": body,
    }
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    plugin.chmod(0o700)
    plain = {"server": "http://127.0.0.1:1"}
    token = auth.load(kubeconfig(tmp_path / "config", plain, plugin_user(plugin))).token
    with pytest.raises(SettingsError, match="needs an https server"):
        token()
    token = auth.load(kubeconfig(tmp_path / "config", user=plugin_user(plugin))).token
    assert token() is None


def test_an_unusable_certificate_of_a_plugin_gives_an_error_of_one_sentence(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    status = '{"clientCertificateData": "x", "clientKeyData": "secret"}'
    plugin.write_text(
        "#!/bin/sh\n"
        'echo \'{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",'
        f' "status": {status}}}\'\n'
    )
    plugin.chmod(0o700)
    token = auth.load(kubeconfig(tmp_path / "config", user=plugin_user(plugin))).token
    with pytest.raises(SettingsError, match="of its plugin cannot be used") as failed:
        token()
    assert "secret" not in str(failed.value)
