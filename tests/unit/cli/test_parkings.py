"""`shuntyard parkings`: jobs that were parked, for which job, and what that cost them."""

import msgspec
import pytest

from cli.__main__ import main
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
