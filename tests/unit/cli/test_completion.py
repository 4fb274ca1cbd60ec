"""Completion scripts and manual pages: every command and option of the parser is in them."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from cli import arguments, command_tree
from cli.__main__ import main

WHOLE, COMMANDS = command_tree.read(arguments.parsers()[0])
NAMES = "#!/bin/sh\necho vision/job/resnet\necho language/job/gpt\n"


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.fixture
def bash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The script, and a ``shuntyard`` that knows two jobs."""
    (tmp_path / "script").write_text(script("bash", capsys))
    program = tmp_path / "shuntyard"
    program.write_text(NAMES)
    program.chmod(0o755)
    return tmp_path


def completed(directory: Path, line: str) -> list[str]:
    """What bash offers for the last word of a line."""
    words = [*shlex.split(line), *([""] if line.endswith(" ") else [])]
    quoted = " ".join(map(shlex.quote, words))
    program = (
        f"PATH={directory}:$PATH; cd {directory}; source ./script; COMP_WORDS=({quoted}); "
        f"COMP_CWORD={len(words) - 1}; _shuntyard; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


LINES: dict[str, tuple[str, list[str]]] = {
    "a command": ("shuntyard jo", ["jobs"]),
    "a command after an option": ("shuntyard -n vision expl", ["explain"]),
    "an option": ("shuntyard jobs --st", ["--state"]),
    "an option of another command": ("shuntyard nodes --st", []),
    "a value": ("shuntyard jobs --state pa", ["paused", "parked"]),
    "a value of a short option": ("shuntyard jobs -o y", ["yaml"]),
    "an output that another command has": ("shuntyard logs-check -o n", []),
    "a job": ("shuntyard explain v", ["vision/job/resnet"]),
    "a namespace": ("shuntyard queue -n l", ["language"]),
    "a shell": ("shuntyard completion f", ["fish"]),
    "a file": ("shuntyard submit -f scr", ["script"]),
    "a file without an option": ("shuntyard logs-check scr", ["script"]),
    "a value that is not known": ("shuntyard jobs --url x", []),
}


@pytest.mark.parametrize(("line", "want"), LINES.values(), ids=LINES)
def test_bash_completes_the_last_word(bash: Path, line: str, want: list[str]) -> None:
    assert completed(bash, line) == want


def test_bash_offers_all_commands(bash: Path) -> None:
    assert {command.name for command in COMMANDS} < set(completed(bash, "shuntyard "))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_in_the_script(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = script(shell, capsys)
    for command in COMMANDS:
        assert command.name in text
        for name in (name for option in command.options for name in option.names):
            mark = "-l" if name.startswith("--") else "-s"
            assert (f"{mark} {name.lstrip('-')}" if shell == "fish" else name) in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_can_read_its_script(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_text(script(shell, capsys))
    done = subprocess.run([program, "-n", str(file)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_options_that_a_command_hides_are_not_offered() -> None:
    listed = {command.name: command.options for command in COMMANDS}
    names = {name for option in listed["completion"] for name in option.names}
    assert names == {"-h", "--help"}
    assert "--url" in {name for option in listed["jobs"] for name in option.names}


def test_a_page_for_each_command_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["man", str(tmp_path / "man1")]) == 0
    files = {file.name for file in (tmp_path / "man1").iterdir()}
    assert files == {"shuntyard.1", *(f"shuntyard-{command.name}.1" for command in COMMANDS)}
    assert f"wrote {len(files)} pages" in capsys.readouterr().out


def test_a_page_has_usage_options_and_what_they_mean(tmp_path: Path) -> None:
    main(["man", str(tmp_path)])
    text = (tmp_path / "shuntyard-jobs.1").read_text().replace("\\-", "-")
    assert text.startswith('.TH "SHUNTYARD-JOBS" "1"')
    assert ".B shuntyard jobs [OPTION ...]" in text
    assert ".TP\n.B --state STATE[,STATE]\nonly jobs in these states: waiting, blocked" in text
    assert ".TP\n.B -w, --watch [SECONDS]\nrepeat every SECONDS" in text
    whole = (tmp_path / "shuntyard.1").read_text().replace("\\-", "-")
    assert ".B NO_COLOR" in whole
    assert "Exit codes: 0 success" in whole


def test_roff_reads_the_pages_without_a_warning(tmp_path: Path) -> None:
    program = shutil.which("groff")
    if program is None:
        pytest.skip("groff is not installed")
    main(["man", str(tmp_path)])
    for file in sorted(tmp_path.iterdir()):
        done = subprocess.run(
            [program, "-man", "-Tutf8", "-ww", "-z", str(file)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""


def test_a_directory_that_cannot_be_written_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["man", str(tmp_path / "file" / "man1")]) == 1
    assert "name a directory that you may write" in capsys.readouterr().err


def test_an_unknown_shell_is_a_wrong_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["completion", "tcsh"])
    assert end.value.code == 2
    assert "'tcsh'" in capsys.readouterr().err
