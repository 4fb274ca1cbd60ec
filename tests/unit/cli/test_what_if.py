"""`shuntyard what-if`: its request and its output."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cli import commands
from cli.__main__ import main
from cli.views import what_if
from shared.readapi import api
from shared.readapi.explanation import Bill
from tests.fakes.answers import EXPLAIN_JOB, WHAT_IF
from tests.unit.cli.conftest import ApiServer, ReadApi
from tests.unit.cli.test_by_service import PROXY, status

SHOWN = """\
Job:      team-a/job/mine, 3 pods
Starts:   now
Queue:    2 of 3
Score:    1250 █████···
Priority: user 5 of 10, job 50; urgency 5 of 100; 6 workers
Price:    as much as 1 idle node (0.5 if the cluster were idle; 2x)
Note:     not part of a job: Service of v1

NODE    ROLE    PODS
node-a  worker     2
node-b  worker     1

OTHER-JOB        POSITION   START  WITH-IT   LATER  WHY
team-b/job/bert       1>2  in 30s   in 10m  10m00s  durations by annotation
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: mine}
spec: {template: {spec: {containers: [{name: c, resources: {requests: {cpu: 2}}}]}}}
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: mine}\n"


def sent(read_api: ReadApi) -> Any:
    (body,) = read_api.bodies
    return json.loads(body)


def test_the_answer_has_start_place_price_and_delayed_jobs(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["what-if", "--workers", "3", "--cpu", "2"]) == 0
    assert capsys.readouterr().out == SHOWN
    assert read_api.asked == ["/v1/what-if?namespace=default"]


def test_options_become_a_job(read_api: ReadApi) -> None:
    words = "--workers 4 --cpu 2 --memory 4Gi --gpu 1 --duration 2h --max-wait 20m"
    more = "--min-available 3 --priority-class hp -n team-a --name big"
    assert main(["what-if", *words.split(), *more.split()]) == 0
    job = sent(read_api)
    template = job["spec"]["template"]
    assert (job["kind"], job["metadata"]["name"]) == ("Job", "big")
    assert (job["spec"]["parallelism"], job["spec"]["completions"]) == (4, 4)
    assert template["metadata"]["annotations"] == {
        "shuntyard.io/expected-duration": "2h",
        "shuntyard.io/max-wait": "20m",
        "shuntyard.io/min-available": "3",
    }
    assert template["spec"]["priorityClassName"] == "hp"
    requests = {"cpu": "2", "memory": "4Gi", "nvidia.com/gpu": "1"}
    assert template["spec"]["containers"][0]["resources"]["requests"] == requests
    assert read_api.asked == ["/v1/what-if?namespace=team-a"]


def test_parameter_servers_request_no_gpu(read_api: ReadApi) -> None:
    assert main(["what-if", "--workers", "6", "--servers", "2", "--cpu", "500m", "--gpu", "1"]) == 0
    roles = sent(read_api)["spec"]["tfReplicaSpecs"]
    asks = {
        role: found["template"]["spec"]["containers"][0]["resources"]["requests"]
        for role, found in roles.items()
    }
    assert {role: found["replicas"] for role, found in roles.items()} == {"PS": 2, "Worker": 6}
    assert asks == {"PS": {"cpu": "500m"}, "Worker": {"cpu": "500m", "nvidia.com/gpu": "1"}}


def test_a_file_is_sent_unchanged(read_api: ReadApi, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB)
    assert main(["what-if", "-f", str(file)]) == commands.UNCHECKED
    assert sent(read_api)["spec"]["template"]["spec"]["containers"][0]["name"] == "c"


def test_several_objects_are_sent_as_a_list(
    read_api: ReadApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"---\n{SERVICE}---\n{JOB}"))
    assert main(["what-if", "-f", "-"]) == commands.UNCHECKED
    assert [one["kind"] for one in sent(read_api)["items"]] == ["Service", "Job"]


UNREADABLE: dict[str, tuple[bytes | None, str]] = {
    "it does not exist": (None, "No such file"),
    "it is not YAML": (b"a: [", "while parsing"),
    "it is not text": (b"\xff\xfe\xff", "decode"),
    "it is empty": (b"---\n", "holds no object"),
    "a key that JSON cannot have": (b"on: x", "-like keys"),
}


@pytest.mark.parametrize(("text", "words"), UNREADABLE.values(), ids=UNREADABLE.keys())
@pytest.mark.usefixtures("read_api")
def test_an_unreadable_file_is_an_error(
    text: bytes | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "job.yaml"
    if text is not None:
        file.write_bytes(text)
    assert main(["what-if", "-f", str(file)]) == 1
    err = capsys.readouterr().err
    assert words in err
    assert str(file) in err


WRONG: dict[str, tuple[str, str]] = {
    "nothing at all": ("what-if", "-f/--file, or --workers and --cpu"),
    "no CPU": ("what-if --workers 3", "--cpu is missing"),
    "both": ("what-if -f job.yaml --cpu 2", "--cpu cannot be combined with -f/--file"),
    "no worker": ("what-if --workers 0 --cpu 2", "'0' is not a number of at least 1"),
    "input again and again": ("what-if -f - -w", "can be read once"),
}


@pytest.mark.parametrize(("argv", "words"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_command_line_has_exit_code_2(
    argv: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(argv.split())
    assert end.value.code == 2
    assert words in capsys.readouterr().err


LATER = replace(
    WHAT_IF,
    starts_now=False,
    places=(),
    shifts=(),
    bill=Bill(idle=0.5),
    entry=replace(
        WHAT_IF.entry,
        reason="GangDoesNotFit",
        message="full",
        estimated_start=1600.0,
        estimate="durations by annotation",
    ),
    obstacles=EXPLAIN_JOB,
)
STARTS: dict[str, tuple[api.WhatIfResponse, str]] = {
    "now": (WHAT_IF, "Starts:   now"),
    "with less than all": (replace(WHAT_IF, pods=4), "Starts:   now, with 3 of 4 pods"),
    "later": (LATER, "Starts:   in 10m (durations by annotation)"),
    "unknown": (
        replace(LATER, entry=replace(LATER.entry, estimated_start=None, estimate="behind x")),
        "Starts:   unknown: behind x",
    ),
    "never as things are": (
        replace(LATER, entry=replace(LATER.entry, estimated_start=None, position=None)),
        "Starts:   not without a change",
    ),
}


@pytest.mark.parametrize(("answer", "line"), STARTS.values(), ids=STARTS.keys())
def test_the_start_is_one_line(answer: api.WhatIfResponse, line: str) -> None:
    assert line in what_if.what_if(answer, wide=False)


def test_reason_and_cost_are_shown() -> None:
    shown = what_if.what_if(LATER, wide=False)
    assert "Reason:   GangDoesNotFit: full" in shown
    assert "Price:    as much as 0.5 idle nodes if the cluster were idle" in shown
    assert shown[-1] == "no other waiting job would start earlier or later; running jobs stay"


def test_wide_names_every_pod() -> None:
    assert "mine-2  worker  node-b" in what_if.what_if(WHAT_IF, wide=True)


def test_many_other_jobs_are_cut_unless_wide() -> None:
    many = replace(WHAT_IF, shifts=WHAT_IF.shifts * 12)
    assert what_if.what_if(many, wide=False)[-1] == "… and 2 more, see -o wide"
    assert len(what_if.what_if(many, wide=True)) == len(what_if.what_if(many, wide=False)) + 2


def test_json_is_the_answer_of_the_extender(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["what-if", "--workers", "1", "--cpu", "1", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["job"] == "team-a/job/mine"
    assert len(read_api.bodies) == 1


def test_through_the_api_server_it_is_a_post(api_server: ApiServer) -> None:
    assert main(["what-if", "--workers", "1", "--cpu", "1"]) == 0
    assert api_server.known.asked[-1] == f"{PROXY}/v1/what-if?namespace=default"
    assert api_server.known.headers[-1]["Content-Type"] == "application/json"
    assert len(api_server.known.bodies) == 2  # the first one requested a token


def test_the_right_that_is_missing_is_create(
    api_server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = status(403, "Forbidden", 'User "bob" cannot create resource "services/proxy"')
    api_server.known.answers[f"{PROXY}/v1/what-if"] = refused
    assert main(["what-if", "--workers", "1", "--cpu", "1"]) == 1
    assert "`create` on `services/proxy` named" in capsys.readouterr().err
