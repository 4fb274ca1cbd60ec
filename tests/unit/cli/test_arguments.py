"""What the command line says of itself, and to who gets it wrong."""

import pytest

from cli.__main__ import main
from shared import api


def ended(argv: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command line that ends at once; return what it said."""
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


WRONG: dict[str, tuple[list[str], str, str]] = {
    "an option that no command has": (
        ["queue", "--sort", "v"],
        "usage: shuntyard queue [OPTION ...]",
        "--sort v is not understood: `shuntyard queue --help`",
    ),
    "an option of another command": (
        ["nodes", "--slots"],
        "usage: shuntyard nodes",
        "--slots is not understood",
    ),
    "no job to explain": (["explain"], "usage: shuntyard explain POD|JOB", "POD|JOB"),
    "a command that does not exist": (["queu"], "usage: shuntyard COMMAND", "'doctor'"),
    "doctor past the API server": (
        ["doctor", "--url", "http://127.0.0.1:1"],
        "usage: shuntyard doctor",
        "--url and --watch do not go with it",
    ),
    "a resource without its slots": (
        ["prices", "--resource", "cpu"],
        "usage: shuntyard prices",
        "shuntyard prices: error: --resource is for --slots",
    ),
    "a job of which nothing is said": (
        ["what-if"],
        "usage: shuntyard what-if",
        "shuntyard what-if: error: expected -f/--file, or --workers and --cpu",
    ),
}


@pytest.mark.parametrize(("argv", "usage", "said"), WRONG.values(), ids=WRONG.keys())
def test_who_gets_it_wrong_is_told_what_that_command_expects(
    argv: list[str], usage: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    err = ended(argv, 2, capsys)
    assert err.startswith(usage)
    assert said in err


def test_without_a_command_all_of_them_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    err = ended([], 2, capsys)
    assert [name for name in ("queue", "explain", "doctor", "--version") if name not in err] == []


def test_the_release_is_said_with_what_it_reads(capsys: pytest.CaptureFixture[str]) -> None:
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
def test_help_lists_only_options_that_mean_something(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, listed = LISTED[option]
    assert (option.split()[1] in ended([command, "--help"], 0, capsys)) is listed
