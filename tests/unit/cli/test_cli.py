"""The whole command against a server with canned answers."""

import json

import msgspec
import pytest

from cli.__main__ import main
from shared.readapi import api
from tests.fakes.answers import EXPLAIN, QUEUE
from tests.unit.cli.conftest import ReadApi

QUEUE_TABLE = (
    "POSITION  JOB     NAMESPACE  REQUESTS          SCORE   WAIT  START  REASON\n"
    "       1  resnet  team-a     16 GPUs   █████··· 1250  1m15s      -  "
    "not enough room for the whole gang\n"
    "       2  bert    team-b     -         ········    0    10s      -  "
    "the job's number of pods is not stated\n"
)
NODES_TABLE = """\
NODE    STATE           GPU-FREE  CPU-FREE        MEM-FREE   PODS  RESERVED  PRICE  AGENT
node-a  Ready,Cordoned    3 of 4  5.5 of 8  31.5 of 32 GiB  3/110         2    31%     3s
"""
JOBS_TABLE = (
    "NAME    STATE    REQUESTS  PODS   SINCE  START/END               METRIC"
    "            CURVE                  STEP  NODES      REASON\n"
    "resnet  running  3 GPUs     3/3  10m00s  end in 12m (9m to 14m)  eval_loss=0.1235"
    "  ██▇▇▆▆▅▅▄▄▃▃▂▂▁▁  1200/5000  node-a +1  -\n"
)
MIGRATIONS_TABLE = (
    "MIGRATION          NAMESPACE  JOB     WHY        FROM           TO        AGE  SAVED  RESUMED"
    "  DOWNTIME  LOST  PHASE                             PHASES\n"
    "resnet-0-1a2b3c4d  team-a     resnet  converged  node-a         node-b  1m40s   1200     1200"
    "       12s     0  Completed                         wait 0.5s save 8.2s evict 12s\n"
    "bert-9f8e7d6c      team-b     bert    count      node-a,node-c  node-b    10s      7        -"
    "         -     -  CheckpointRequested: WaitsForAck  save 10s\n"
    "\n"
    "NOT-MOVED  NAMESPACE  REASON      AGO  MESSAGE\n"
    "gpt        team-a     NoGain    1m00s  5 s for 20 s\n"
    "vit        team-c     NoTarget     1s  no node has room\n"
)


def test_proxies_of_the_environment_are_ignored(
    read_api: ReadApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert main(["queue", "--url", read_api.url]) == 0


def test_a_url_may_have_a_path_prefix(read_api: ReadApi) -> None:
    read_api.answers["/below/v1/queue"] = read_api.answers["/v1/queue"]
    assert main(["queue", "--url", f"{read_api.url}/below/"]) == 0
    assert read_api.asked == ["/below/v1/queue"]


TABLES = {
    "queue": QUEUE_TABLE,
    "nodes": NODES_TABLE,
    "jobs": JOBS_TABLE,
    "migrations": MIGRATIONS_TABLE,
}


@pytest.mark.parametrize("command", TABLES)
def test_tables_are_plain_aligned_columns(
    read_api: ReadApi, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command]) == 0
    assert capsys.readouterr().out == TABLES[command]
    assert read_api.asked == [f"/v1/{command}"]


@pytest.mark.parametrize("command", ["queue", "jobs", "migrations", "rescales", "parkings"])
def test_one_namespace_is_requested_from_the_extender(command: str, read_api: ReadApi) -> None:
    assert main([command, "-n", "team-a"]) == 0
    assert read_api.asked == [f"/v1/{command}?namespace=team-a"]


@pytest.mark.parametrize(
    ("command", "want"),
    [
        ("queue", ["order: cps, jobs: 2", "KIND", "8/8", "1/?", "0.250", "not enough room"]),
        ("nodes", ["LOG-PRICE", "1.439", "nvidia.com/gpu=3", "CPU-NOW", "2.25", "3 GiB"]),
        ("jobs", ["LEAVING", "node-a,node-b", "ATTEMPT", "1000 3m10s ago", "team-a"]),
        ("migrations", ["GAIN", "2m00s", "gain 120 s against 20 s"]),
    ],
)
@pytest.mark.usefixtures("read_api")
def test_wide_shows_more(command: str, want: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "-o", "wide"]) == 0
    out = capsys.readouterr().out
    assert [text for text in want if text not in out] == []


@pytest.mark.usefixtures("read_api")
def test_json_is_the_answer_of_the_extender(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-o", "json", "queue"]) == 0
    out = capsys.readouterr().out
    assert msgspec.json.decode(out, type=api.QueueResponse) == QUEUE
    assert out.splitlines()[1] == f'  "apiVersion": "{api.API_VERSION}",'


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.usefixtures("read_api")
def test_options_may_stand_before_and_after_the_command(
    where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["-n", "team-b", "-o", "json"]
    assert main([*options, "queue"] if where == "before" else ["queue", *options]) == 0
    entries = json.loads(capsys.readouterr().out)["entries"]
    assert [(entry["job"], entry["position"]) for entry in entries] == [("bert", 2)]


@pytest.mark.parametrize(
    "argv", [["explain", "resnet-0", "-n", "team-a"], ["explain", "team-a/resnet-0"]]
)
def test_explain_requests_one_pod_and_shows_its_best_nodes(
    read_api: ReadApi, argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 0
    assert read_api.asked == ["/v1/explain?namespace=team-a&name=resnet-0"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Pod:      team-a/resnet-0", "Job:      team-a/Job/resnet"]
    assert lines[4] == "Reason:   GangDoesNotFit: not enough room for the whole gang"
    assert lines[7].split() == ["NODE", "TOTAL", "AFFINITY", "LOCALITY", "PACKING", "PRICE"]
    assert lines[-1] == "… and 2 more, see -o wide"


EMPTY = {
    "queue": (api.QueueResponse(generated_at=0, acting=True, order="cps"), "no jobs waiting\n"),
    "nodes": (api.NodesResponse(generated_at=0), "no nodes\n"),
    "jobs": (api.JobsResponse(generated_at=0), "no jobs\n"),
    "migrations": (
        api.MigrationsResponse(generated_at=0, acting=True),
        "no migrations\n",
    ),
}


@pytest.mark.parametrize("command", EMPTY)
def test_an_empty_list_says_so(
    read_api: ReadApi, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, want = EMPTY[command]
    read_api.answers[f"/v1/{command}"] = (200, msgspec.json.encode(answer))
    assert main([command]) == 0
    assert capsys.readouterr().out == want


def test_a_standby_is_named(read_api: ReadApi, capsys: pytest.CaptureFixture[str]) -> None:
    standby = msgspec.structs.replace(QUEUE, acting=False)
    read_api.answers["/v1/queue"] = (200, msgspec.json.encode(standby))
    main(["queue"])
    assert "this replica is a standby" in capsys.readouterr().out


FAILURES: dict[str, tuple[int, bytes, str]] = {
    "no such pod": (404, b"there is no pod default/x", "there is no pod default/x (status 404)"),
    "a defect": (500, b"", "(status 500)"),
    "not JSON": (200, b"<html>", "not that of a Shuntyard read API"),
    "another API": (200, b"{}", "not that of a Shuntyard read API"),
    "another version": (
        200,
        msgspec.json.encode(msgspec.structs.replace(EXPLAIN, api_version="shuntyard.io/read/v9")),
        "the extender serves shuntyard.io/read/v9",
    ),
}


@pytest.mark.parametrize(("status", "body", "want"), FAILURES.values(), ids=FAILURES.keys())
def test_an_unusable_answer_is_one_line_and_exit_code_1(
    read_api: ReadApi, status: int, body: bytes, want: str, capsys: pytest.CaptureFixture[str]
) -> None:
    read_api.answers["/v1/explain"] = (status, body)
    assert main(["explain", "x"]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert want in captured.err


@pytest.mark.parametrize(
    ("url", "want"),
    [
        ("http://127.0.0.1:1", "no answer from http://127.0.0.1:1"),
        ("127.0.0.1:10262", "is not a URL such as"),
        ("file:///etc/passwd", "is not a URL such as"),
        ("http://[", "is not a URL such as"),
        ("http://127.0.0.1:port", "is not a URL such as"),
    ],
)
def test_an_unusable_url_is_an_error_with_exit_code_1(
    url: str, want: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--url", url, "queue"]) == 1
    assert want in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["queues"],
        ["queue", "-o", "xml"],
        ["explain"],
        ["queue", "--watch", "0"],
        ["queue", "--service", "shuntyard-extender:api"],
        ["queue", "--url", "http://127.0.0.1:1", "--context", "east"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_has_exit_code_2(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert "usage: shuntyard" in capsys.readouterr().err


class Stop:
    """Sleeps so many times, then presses Ctrl-C."""

    def __init__(self, times: int) -> None:
        self.slept: list[float] = []
        self.times = times

    def __call__(self, seconds: float, *_: object) -> None:
        if len(self.slept) == self.times:
            raise KeyboardInterrupt
        self.slept.append(seconds)


def test_a_command_that_is_interrupted_does_not_report_success(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cli.logs_check.run", Stop(0))
    assert main(["logs-check", "train.log"]) == 130


def test_watch_repeats_until_ctrl_c_and_survives_an_outage(
    read_api: ReadApi, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stop = Stop(2)
    monkeypatch.setattr("cli.commands.time.sleep", stop)
    assert main(["queue", "-o", "json", "--watch", "0.5"]) == 0
    assert stop.slept == [0.5, 0.5]
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["order"] for line in lines] == ["cps"] * 3

    stop = Stop(2)

    def fail_once(seconds: float) -> None:
        stop(seconds)
        status = 503 if len(stop.slept) == 1 else 200
        read_api.answers["/v1/queue"] = (status, msgspec.json.encode(QUEUE))

    monkeypatch.setattr("cli.commands.time.sleep", fail_once)
    assert main(["queue", "--watch"]) == 0
    captured = capsys.readouterr()
    assert captured.out.count("POSITION") == 2
    assert "status 503" in captured.err


def test_the_plugin_is_named_as_kubectl_calls_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/kubectl-shuntyard"])
    with pytest.raises(SystemExit):
        main([])
    assert "usage: kubectl shuntyard" in capsys.readouterr().err
