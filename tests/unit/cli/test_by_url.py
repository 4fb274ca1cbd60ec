"""The read API by URL: trust, server names and tokens."""

import ssl
from pathlib import Path

import pytest

from cli.__main__ import main
from devcluster.credentials.certificates import Authority, Pair
from shared.system_clock import SystemClock
from tests.unit.cli.conftest import ReadApi, serving

NAME = "shuntyard-extender.shuntyard-system.svc"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("pki"), SystemClock())


def server(pair: Pair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


@pytest.fixture
def over_tls(authority: Authority, read_api: ReadApi):
    with serving(ReadApi(answers=read_api.answers), server(authority.issue_server("x"))) as known:
        yield known


def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("secret\n")
    return file


def test_a_token_is_sent_to_a_trusted_server(
    over_tls: ReadApi, authority: Authority, tmp_path: Path
) -> None:
    options = ["--ca", str(authority.certificate), "--token-file", str(token(tmp_path))]
    assert main(["queue", "--url", over_tls.url, *options]) == 0
    assert over_tls.headers[0]["Authorization"] == "Bearer secret"


def test_the_environment_may_configure_it(
    over_tls: ReadApi, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHUNTYARD_URL", over_tls.url)
    monkeypatch.setenv("SHUNTYARD_CA", str(authority.certificate))
    monkeypatch.setenv("SHUNTYARD_TOKEN_FILE", str(token(tmp_path)))
    assert main(["queue"]) == 0
    assert over_tls.headers[0]["Authorization"] == "Bearer secret"


def test_the_expected_name_may_differ_from_the_host(
    authority: Authority, read_api: ReadApi
) -> None:
    tls = server(authority.issue_server("named", [NAME], []))
    options = ["--ca", str(authority.certificate)]
    with serving(ReadApi(answers=read_api.answers), tls) as known:
        assert main(["queue", "--url", known.url, *options]) == 1
        assert main(["queue", "--url", known.url, *options, "--server-name", NAME]) == 0


def test_an_untrusted_server_gets_no_token(over_tls: ReadApi, tmp_path: Path) -> None:
    assert main(["queue", "--url", over_tls.url, "--token-file", str(token(tmp_path))]) == 1
    assert over_tls.headers == []


PROBLEMS = {
    "in plain text": (["--url", "http://10.0.0.1:1", "--token-file", "T"], "over https only"),
    "no token": (["--url", "https://127.0.0.1:1", "--token-file", "missing"], "missing"),
    "no authority": (["--url", "https://127.0.0.1:1", "--ca", "missing"], "--ca missing"),
}


@pytest.mark.parametrize(("options", "message"), PROBLEMS.values(), ids=PROBLEMS)
def test_an_unusable_option_is_an_error(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["queue", *options]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("text", ["secret\nhidden", "secr\u00e9t", "secret\x00", " \n"])
def test_a_token_that_fits_no_header_is_refused_and_not_printed(
    text: str, tmp_path: Path, read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    assert main(["queue", "--url", read_api.url, "--token-file", str(file)]) == 1
    printed = capsys.readouterr().err
    assert f"--token-file {file}: " in printed
    assert "secr" not in printed
    assert read_api.headers == []


@pytest.mark.parametrize("option", ["--ca", "--token-file", "--server-name"])
def test_options_of_a_url_need_one(option: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["queue", option, "x"])
    assert caught.value.code == 2


def test_a_token_may_be_sent_in_plain_text_on_loopback(read_api: ReadApi, tmp_path: Path) -> None:
    assert main(["queue", "--url", read_api.url, "--token-file", str(token(tmp_path))]) == 0
    assert read_api.headers[0]["Authorization"] == "Bearer secret"
