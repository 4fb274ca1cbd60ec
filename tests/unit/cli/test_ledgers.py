"""What `shuntyard parkings` and `shuntyard rescales` have in common."""

import json
from typing import Any

import msgspec
import pytest

from cli.__main__ import main
from tests.fakes.answers import PARKINGS, RESCALES
from tests.unit.cli.conftest import ReadApi

LEDGERS: dict[str, tuple[str, Any, tuple[str, ...]]] = {
    "parkings": ("parkings", PARKINGS, ("pytorchjob", "gpt-park-2", "did not save in time")),
    "rescales": ("rescales", RESCALES, ("pytorchjob", "r-3", "1 of 3 trainers saved")),
}
pytestmark = pytest.mark.parametrize(
    ("command", "answer", "wide"), LEDGERS.values(), ids=LEDGERS.keys()
)


@pytest.mark.usefixtures("read_api")
def test_wide_has_the_messages(
    command: str, answer: Any, wide: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "-o", "wide"]) == 0
    out = capsys.readouterr().out
    assert [text for text in wide if text not in out] == []


@pytest.mark.usefixtures("read_api")
def test_a_namespace_has_its_own(
    command: str, answer: Any, wide: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "-n", "team-c", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [entry["job"] for entry in found["entries"]] == ["gpt"]
    assert [one["job"] for one in found["declined"]] == ["team-c/job/gpt"]


def test_an_empty_ledger_of_a_standby_says_both(
    read_api: ReadApi,
    command: str,
    answer: Any,
    wide: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    none = msgspec.structs.replace(answer, entries=(), declined=(), acting=False)
    read_api.answers[f"/v1/{command}"] = (200, msgspec.json.encode(none))
    assert main([command]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("this replica is a standby")
    assert second == f"no {command}"


@pytest.mark.usefixtures("read_api")
def test_json_is_the_answer_of_the_extender(
    command: str, answer: Any, wide: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "-o", "json"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out, type=type(answer)) == answer
