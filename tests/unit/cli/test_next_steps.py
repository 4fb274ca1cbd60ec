"""Every error of the command says what to do next."""

import re
from pathlib import Path

import pytest

from cli.__main__ import main
from tests.unit.cli.conftest import ApiServer, ReadApi
from tests.unit.cli.test_by_service import PROXY, status

STEP = re.compile(r"`(kubectl|shuntyard)[^`]+`|--[a-z-]+|apply |install |ask for|try again|log in")
"""A command, an option, or what else the user can do."""

ANSWERS: dict[str, tuple[int, bytes]] = {
    "the token is refused": (401, b"unauthorized"),
    "too many at once": (429, b"too many lists are open"),
    "it fails": (500, b"internal error"),
    "it is not ready": (503, b"not synced yet"),
    "another program answers": (200, b"<html>"),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_by_url(
    read_api: ReadApi, answer: tuple[int, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    read_api.answers["/v1/jobs"] = answer
    assert main(["jobs"]) == 1
    err = capsys.readouterr().err
    assert STEP.search(err), err


REFUSALS: dict[str, tuple[int, bytes]] = {
    "the credentials are refused": status(401, "Unauthorized", "Unauthorized"),
    "a right is missing": status(403, "Forbidden", 'User "bob" cannot get'),
    "no pod is ready": status(503, "ServiceUnavailable", "no endpoints available for service"),
    "no connection": status(503, "ServiceUnavailable", "error trying to reach service: refused"),
    "another failure": status(500, "InternalError", "etcd is down"),
    "no Service": status(404, "NotFound", "services not found"),
}


@pytest.mark.parametrize("answer", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_of_the_api_server(
    api_server: ApiServer, answer: tuple[int, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    api_server.known.answers[f"{PROXY}/v1/jobs"] = answer
    assert main(["jobs"]) == 1
    err = capsys.readouterr().err
    assert STEP.search(err), err


def test_a_manifest_without_an_object(
    read_api: ReadApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("---\n")
    assert main(["what-if", "-f", str(file)]) == 1
    assert "`kubectl apply -f`" in capsys.readouterr().err
    assert read_api.asked == []


WRONG = {
    "an unknown command": ["job"],
    "an unknown option": ["jobs", "--stat", "x"],
    "a missing argument": ["explain"],
    "a value that cannot be": ["jobs", "-o", "xml"],
    "options that exclude each other": ["jobs", "--url", "http://x", "--context", "y"],
}


@pytest.mark.parametrize("argv", WRONG.values(), ids=WRONG)
def test_a_wrong_command_line_names_its_help(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(argv)
    assert re.search(r"`shuntyard( jobs| explain)? --help`", capsys.readouterr().err)
