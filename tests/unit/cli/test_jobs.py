"""``shuntyard jobs``: one list of waiting, running and done jobs, as wide as the terminal."""

import io
import json
import time
from collections.abc import Iterator

import msgspec
import pytest
import yaml
from msgspec.structs import replace

from cli import options
from cli.__main__ import main
from cli.views import jobs
from cli.views.terminal import UNLIMITED, Terminal
from shared.readapi.answer import EndEntry, JobState
from shared.readapi.pricing import AdmissionEntry
from tests.fakes import job_list
from tests.fakes.job_list import GPT, HUGE, LIST, NOW, RESNET
from tests.unit.cli.conftest import ReadApi
from tests.unit.cli.test_cli import Stop

AT_80 = """\
NAME            NAMESPACE  STATE     REQUESTS  START/END      NODES/REASON
resnet          vision     waiting   32 GPUs   start in 19m   32 GPUs needed, 1…
tiny            vision     waiting   0.5 CPU   -              there is room, bu…
vit-h14         vision     blocked   16 GPUs   -              1 pod asks for 16…
bert            language   starting  2 GPUs    -              gpu-node-0009
gpt-pretrain-…  language   running   64 GPUs   end 11:29      gpu-node-0000 +7
sweep-18        language   failed    2 CPUs    ended 5m ago   cpu-node-0001
sweep-17        language   done      2 CPUs    ended 10m ago  cpu-node-0001

blocked: cannot start without a change; `shuntyard explain NAME` shows why
"""


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(autouse=True)
def listing(read_api: ReadApi) -> ReadApi:
    read_api.answers["/v1/jobs"] = (200, msgspec.json.encode(LIST))
    return read_api


def shown(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["jobs", *argv]) == 0
    return capsys.readouterr().out


def column(text: str, number: int = 0) -> list[str]:
    """The cells of a column below its heading."""
    return [line.split()[number] for line in text.partition("\n\n")[0].splitlines()[1:]]


class Tty(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch, *argv: str, **environment: str) -> str:
    """What a terminal shows; without colours unless ``NO_COLOR`` is empty."""
    for name, text in {"NO_COLOR": "1", "TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, text)
    out = Tty()
    monkeypatch.setattr("sys.stdout", out)
    assert main(["jobs", *argv]) == 0
    return out.getvalue()


def test_80_columns_have_state_request_start_or_end_and_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert on_terminal(monkeypatch, COLUMNS="80") == AT_80


def test_200_columns_have_the_curve_the_band_and_the_reason_in_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = on_terminal(monkeypatch, COLUMNS="200").splitlines()
    assert max(map(len, lines)) <= 200
    assert lines[0].split()[-6:] == ["START/END", "METRIC", "CURVE", "STEP", "NODES", "REASON"]
    assert "end 11:29 (1h19m to 1h44m)  loss=0.9123  █▆▅▄▃▂▂▂▁▁▁▁  67000/120000" in lines[5]


@pytest.mark.parametrize("width", [60, 72, 80, 90, 100, 120, 129, 130, 160, 240])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    screen = Terminal(width, blocks=True, colours=False, height=30)
    lines = jobs.jobs(LIST, jobs.Choice(), screen)
    assert max(map(len, lines[:-1])) <= width
    assert [line.split()[0][:6] for line in lines[1:4]] == ["resnet", "tiny", "vit-h1"]


def test_a_file_gets_every_word_and_no_colour(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys)
    assert "32 GPUs needed, 12 GPUs free on the nodes that may be used" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(("no_color", "colours"), [("", True), ("1", False)])
def test_a_terminal_gets_colours_unless_turned_off(
    monkeypatch: pytest.MonkeyPatch, no_color: str, colours: bool
) -> None:
    text = on_terminal(monkeypatch, NO_COLOR=no_color)
    assert ("\x1b[31mblocked" in text) is colours


def test_watch_keeps_the_head_of_a_list_that_is_longer_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cli.commands.time.sleep", Stop(1))
    text = on_terminal(monkeypatch, "-w", COLUMNS="80", LINES="6")
    screens = text.split("\x1b[H\x1b[2J")[1:]
    assert [len(screen.splitlines()) for screen in screens] == [5, 5]
    for screen in screens:
        lines = screen.splitlines()
        assert lines[0].startswith("NAME ")
        assert lines[-1] == "… 6 more lines: make the window larger"


def test_one_namespace_needs_no_column(capsys: pytest.CaptureFixture[str]) -> None:
    assert "NAMESPACE" in shown(capsys)
    assert "NAMESPACE" not in shown(capsys, "-n", "vision")


SORTED: dict[str, tuple[list[str], list[str]]] = {
    "by default by state, the next to start, to end and the last to end first": (
        [],
        ["resnet", "tiny", "vit-h14", "bert", "gpt-pretrain-32b", "sweep-18", "sweep-17"],
    ),
    "by requests, devices before CPUs": (
        ["--sort", "requests", "--reverse"],
        ["gpt-pretrain-32b", "resnet", "vit-h14", "bert", "sweep-17", "sweep-18", "tiny"],
    ),
    "by the time in the state": (
        ["--sort", "since"],
        ["vit-h14", "gpt-pretrain-32b", "resnet", "sweep-17", "sweep-18", "tiny", "bert"],
    ),
    "some states": (["--state", "done,blocked"], ["vit-h14", "sweep-17"]),
    "a namespace and a state": (["-n", "vision", "--state", "waiting"], ["resnet", "tiny"]),
}


@pytest.mark.parametrize(("argv", "want"), SORTED.values(), ids=SORTED)
def test_jobs_are_sorted_and_chosen(
    argv: list[str], want: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert column(shown(capsys, *argv)) == want


def test_columns_are_chosen_by_name_in_any_order(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "--columns", "state,name,reason-code", "--state", "blocked")
    assert text.splitlines() == [
        "STATE    NAME     REASON-CODE",
        "blocked  vit-h14  NoSuchNode",
    ]


def test_a_column_that_no_job_has_cannot_be_sorted_by(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jobs", "--sort", "payoff"]) == 1
    assert "--sort payoff: no job has this column" in capsys.readouterr().err


def test_names_and_columns_of_the_options_are_those_of_the_list() -> None:
    assert list(options.JOB_STATES) == [state.value for state in JobState]
    priced = replace(GPT, admission=AdmissionEntry(admitted=False, payoff=1.0), workers=None)
    rows = replace(LIST, entries=(priced, RESNET))
    heads = jobs.jobs(rows, jobs.Choice(wide=True), UNLIMITED)[0].lower().split()
    known = set(options.JOB_COLUMNS) - {"workers", "nodes/reason"}
    assert set(heads) == known


def test_yaml_has_what_json_has(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["--state", "blocked", "-o"]
    found = yaml.safe_load(shown(capsys, *argv, "yaml"))
    assert found == json.loads(shown(capsys, *argv, "json"))
    assert [entry["job"] for entry in found["entries"]] == ["vit-h14"]


def test_names_are_those_that_explain_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "-o", "name", "-n", "vision").splitlines() == [
        "vision/job/resnet",
        "vision/job/tiny",
        "vision/job/vit-h14",
    ]


ENDS = {
    "a prediction": (GPT, "end 11:29 (1h19m to 1h44m)"),
    "a stated duration": (
        replace(GPT, end=EndEntry(at=NOW + 600, why="annotation")),
        "end in 10m",
    ),
    "a duration that is over": (
        replace(GPT, progress=None, end=EndEntry(why="overrun")),
        "end overdue",
    ),
    "nothing known": (replace(GPT, progress=None, end=EndEntry(why="unstated")), "-"),
    "an expected start": (RESNET, "start in 19m"),
    "an expected start with its band": (
        replace(RESNET, earliest_start=NOW + 610, latest_start=NOW + 2410),
        "start in 19m (in 10m to 40m)",
    ),
    "no expected start": (HUGE, "-"),
    "an end that was not observed": (replace(job_list.SWEEP, since=None), "-"),
}


@pytest.mark.parametrize(("job", "want"), ENDS.values(), ids=ENDS)
def test_start_or_end_of_a_job_is_shown_as_far_as_it_is_known(job, want: str) -> None:
    assert jobs.start_or_end(job, NOW) == want


def test_the_list_says_that_there_is_none(
    listing: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    listing.answers["/v1/jobs"] = (200, msgspec.json.encode(replace(LIST, entries=())))
    assert shown(capsys) == "no jobs\n"
