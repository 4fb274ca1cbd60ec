"""`shuntyard queue --by namespace`: what each namespace holds and may hold."""

import json

import msgspec
import pytest

from cli.__main__ import main
from tests.fakes.answers import NAMESPACES
from tests.unit.cli.conftest import ReadApi

TABLE = """\
NAMESPACE  WAITING  RUNNING  CPU  MEMORY  PODS  NVIDIA.COM/GPU  SHARE  WEIGHT  GUARANTEED  LIMIT
team-a           2        1  6.5   8 GiB     3               4  50.0%       2       25.0%  75.0%
team-b           1        0    0     0 B     0               0   0.0%       1           -      -
"""


def test_a_line_for_each_namespace(read_api: ReadApi, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["queue", "--by", "namespace"]) == 0
    assert capsys.readouterr().out == TABLE
    assert read_api.asked == ["/v1/namespaces"]


def test_by_job_is_the_queue(read_api: ReadApi) -> None:
    assert main(["queue", "--by", "job"]) == 0
    assert read_api.asked == ["/v1/queue"]


@pytest.mark.usefixtures("read_api")
def test_wide_names_an_unusable_annotation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["queue", "--by", "namespace", "-o", "wide"]) == 0
    assert "annotation shuntyard.io/weight of namespace team-b: 'heavy'" in capsys.readouterr().out


@pytest.mark.usefixtures("read_api")
def test_one_namespace_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["queue", "--by", "namespace", "-n", "team-b", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [entry["namespace"] for entry in found["entries"]] == ["team-b"]


def test_notes_say_that_fair_share_is_off_and_a_standby_answers(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    none = msgspec.structs.replace(NAMESPACES, entries=(), fair_share=False, acting=False)
    read_api.answers["/v1/namespaces"] = (200, msgspec.json.encode(none))
    assert main(["queue", "--by", "namespace"]) == 0
    off, standby, nothing = capsys.readouterr().out.splitlines()
    assert "fair share is off" in off
    assert "is a standby" in standby
    assert nothing == "no jobs"
