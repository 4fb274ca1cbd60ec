"""Help and errors of the command line."""

import pytest

from cli.__main__ import main
from shared.readapi import api


def ended(argv: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command line that ends at once; return its output, or its error."""
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


WRONG: dict[str, tuple[list[str], str, str]] = {
    "an unknown option": (
        ["queue", "--sort", "v"],
        "usage: shuntyard queue [OPTION ...]",
        "unknown option --sort v: see `shuntyard queue --help`",
    ),
    "a state that does not exist": (
        ["jobs", "--state", "waiting,hungry"],
        "usage: shuntyard jobs",
        "'hungry' is none of waiting, blocked, starting",
    ),
    "a column that does not exist": (
        ["jobs", "--columns", "name,moon"],
        "usage: shuntyard jobs",
        "'moon' is none of name, namespace",
    ),
    "names of what has none": (
        ["explain", "x", "-o", "name"],
        "usage: shuntyard explain",
        "invalid choice: 'name' (choose from 'table', 'wide', 'json', 'yaml')",
    ),
    "names of what has none, asked for before the command": (
        ["-o", "name", "explain", "x"],
        "usage: shuntyard explain",
        "-o name is for lists: jobs, migrations, nodes, parkings, queue, rescales",
    ),
    "an option of another command": (
        ["nodes", "--slots"],
        "usage: shuntyard nodes",
        "unknown option --slots",
    ),
    "no job to explain": (["explain"], "usage: shuntyard explain POD|JOB", "POD|JOB"),
    "a command that does not exist": (["queu"], "usage: shuntyard COMMAND", "'doctor'"),
    "doctor past the API server": (
        ["doctor", "--url", "http://127.0.0.1:1"],
        "usage: shuntyard doctor",
        "--url and --watch cannot be combined with doctor",
    ),
    "a resource without its slots": (
        ["prices", "--resource", "cpu"],
        "usage: shuntyard prices",
        "shuntyard prices: error: --resource needs --slots",
    ),
    "a job without a description": (
        ["what-if"],
        "usage: shuntyard what-if",
        "shuntyard what-if: error: expected -f/--file, or --workers and --cpu",
    ),
}


@pytest.mark.parametrize(("argv", "usage", "message"), WRONG.values(), ids=WRONG.keys())
def test_an_error_shows_the_usage_of_that_command(
    argv: list[str], usage: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    err = ended(argv, 2, capsys)
    assert err.startswith(usage)
    assert message in err


def test_without_a_command_all_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    err = ended([], 2, capsys)
    assert [name for name in ("queue", "explain", "doctor", "--version") if name not in err] == []


def test_the_version_has_the_release_and_its_read_api(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(["--version"], 0, capsys).split(", ")[1] == f"reads {api.API_VERSION}\n"


LISTED: dict[str, tuple[str, bool]] = {
    "doctor --url": ("doctor", False),
    "doctor --watch": ("doctor", False),
    "doctor --namespace": ("doctor", False),
    "nodes --namespace": ("nodes", False),
    "nodes --url": ("nodes", True),
    "queue --namespace": ("queue", True),
}


@pytest.mark.parametrize("option", LISTED)
def test_help_lists_only_options_with_an_effect(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, listed = LISTED[option]
    assert (option.split()[1] in ended([command, "--help"], 0, capsys)) is listed


CODES = {
    "queue": "Exit codes: 0 success, 1 no answer or a refusal, 2 wrong command line.",
    "logs-check": "Exit codes: 0 a metric of each file would be followed, 1 of one file none would",
    "doctor": "Exit codes: 0 no fault, 1 a fault, 2 no answer from the API server.",
}


@pytest.mark.parametrize(("command", "codes"), CODES.items())
def test_the_help_of_a_command_says_what_its_exit_codes_mean(
    command: str, codes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert codes in " ".join(ended([command, "--help"], 0, capsys).split())


def test_the_help_lists_only_outputs_that_the_command_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "{table,wide,json,yaml}" in ended(["logs-check", "--help"], 0, capsys)
    assert "{table,wide,json}" in ended(["doctor", "--help"], 0, capsys)
    assert "{table,wide,json,yaml,name}" in ended(["jobs", "--help"], 0, capsys)
