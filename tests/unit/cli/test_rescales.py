"""`shuntyard rescales`: the jobs whose number of workers changed, and those that kept it."""

import json

import msgspec
import pytest

from cli.__main__ import main
from shared.readapi.ledgers import RescalesResponse
from tests.fakes.answers import RESCALES
from tests.unit.cli.conftest import ReadApi

TABLE = """\
JOB NAMESPACE CAUSE WORKERS FOR AGE TOOK SAVES STEP PHASE
resnet team-a MoreImportant 6>4 team-b/job/bert (runs) 1m40s 12s - 0.41s>0.62s Done
resnet team-a SavesTime 4>5 - 10s - 4m10s - Growing
gpt team-c Starving 3>2 team-b/job/vit 50s 20s - - Aborted: NotSaved

NOT-CHANGED NAMESPACE REASON AGO MESSAGE
bert team-a CoolingDown 1s for 40 s
gpt team-c NoCheckpoint 1m00s it has none
"""


def squeezed(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_the_ledger_has_cause_beneficiary_and_end(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rescales"]) == 0
    out = capsys.readouterr().out
    assert squeezed(out) == squeezed(TABLE)
    assert read_api.asked == ["/v1/rescales"]


@pytest.mark.usefixtures("read_api")
def test_wide_has_the_messages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rescales", "-o", "wide"]) == 0
    out = capsys.readouterr().out
    assert [x for x in ("pytorchjob", "r-3", "1 of 3 trainers saved") if x not in out] == []


@pytest.mark.usefixtures("read_api")
def test_a_namespace_has_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rescales", "-n", "team-c", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [entry["job"] for entry in found["entries"]] == ["gpt"]
    assert [one["job"] for one in found["declined"]] == ["team-c/job/gpt"]


def test_an_empty_ledger_of_a_standby_says_both(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    none = msgspec.structs.replace(RESCALES, entries=(), declined=(), acting=False)
    read_api.answers["/v1/rescales"] = (200, msgspec.json.encode(none))
    assert main(["rescales"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("this replica is a standby")
    assert second == "no rescales"


def test_json_is_the_answer_of_the_extender(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rescales", "-o", "json"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out, type=RescalesResponse) == RESCALES
