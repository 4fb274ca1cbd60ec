"""`shuntyard parkings`: jobs that were parked, for which job, and what that cost them."""

import json

import msgspec
import pytest

from cli.__main__ import main
from shared.readapi.ledgers import ParkingsResponse
from tests.fakes.answers import EXPLAIN_JOB, PARKINGS
from tests.unit.cli.conftest import ReadApi

TABLE = """\
JOB NAMESPACE CAUSE FOR AGE STEP SAVE WAITED RESTART LOST PHASE
resnet team-a Share team-b/job/bert 5m00s 4200 3.5s 4m00s 42s 0 Resumed
gpt team-c Drain - 50s - - - - - Aborted: CheckpointTimeout

NOT-PARKED NAMESPACE REASON AGO MESSAGE
gpt team-c NotOptedIn 1m00s it has no checkpoint
"""


def squeezed(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_the_ledger_has_cause_beneficiary_and_every_part_of_the_cost(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["parkings"]) == 0
    assert squeezed(capsys.readouterr().out) == squeezed(TABLE)
    assert read_api.asked == ["/v1/parkings"]


@pytest.mark.usefixtures("read_api")
def test_wide_has_the_messages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parkings", "-o", "wide"]) == 0
    out = capsys.readouterr().out
    assert [x for x in ("pytorchjob", "gpt-park-2", "did not save in time") if x not in out] == []


@pytest.mark.usefixtures("read_api")
def test_a_namespace_has_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parkings", "-n", "team-c", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [entry["job"] for entry in found["entries"]] == ["gpt"]
    assert [one["job"] for one in found["declined"]] == ["team-c/job/gpt"]


def test_an_empty_ledger_of_a_standby_says_both(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    none = msgspec.structs.replace(PARKINGS, entries=(), declined=(), acting=False)
    read_api.answers["/v1/parkings"] = (200, msgspec.json.encode(none))
    assert main(["parkings"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("this replica is a standby")
    assert second == "no parkings"


@pytest.mark.usefixtures("read_api")
def test_json_is_the_answer_of_the_extender(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parkings", "-o", "json"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out, type=ParkingsResponse) == PARKINGS


@pytest.mark.usefixtures("read_api")
def test_names_are_those_that_explain_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parkings", "-o", "name"]) == 0
    assert capsys.readouterr().out.split() == ["team-a/job/resnet", "team-c/pytorchjob/gpt"]


def test_explain_shows_what_the_parkings_of_a_job_cost(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = msgspec.structs.replace(EXPLAIN_JOB, parkings=PARKINGS.entries[:1])
    read_api.answers["/v1/explain"] = (200, msgspec.json.encode(answer))
    assert main(["explain", "team-a/resnet"]) == 0
    out = squeezed(capsys.readouterr().out)
    shown = squeezed("""\
CAUSE FOR AGE STEP SAVE WAITED RESTART LOST PHASE
Share team-b/job/bert 5m00s 4200 3.5s 4m00s 42s 0 Resumed
""")
    assert [line for line in out if line in shown] == shown
