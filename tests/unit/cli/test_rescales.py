"""`shuntyard rescales`: the jobs whose number of workers changed, and those that kept it."""

import pytest

from cli.__main__ import main
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
