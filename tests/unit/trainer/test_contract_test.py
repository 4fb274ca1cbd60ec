"""``shuntyard-contract-test``: good trainers pass, and each broken rule is found by its check."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from shuntyard_trainer import contract_schema, contract_test
from shuntyard_trainer.contract_flushing import require_visible
from shuntyard_trainer.contract_run import NotTestedError
from tests.docs.helper_programs import PROGRAMS
from tests.unit.trainer.processes import LIBRARY, ROOT

EXAMPLE = ROOT / "examples/contract/train.py"
IN_GO = ROOT / "examples/contract/train.go"
QUIET_SECONDS = "0.4"
"""Twenty steps of the example."""
SHORT_SECONDS = "0.05"
"""For a trainer of which every check that waits for nothing passes."""
WAIT_FOR_NOTHING = ("ignores-others", "ignores-malformed", "holds")
CHECKS = (
    *("opens", "ignores-others", "ignores-malformed", "answers", "flushes", "holds"),
    *("answers-again", "continues-after-cancel", "continues-after-deadline", "ends-in-hold"),
    *("resumes", "saves-on-term", "ignores-second-term", "answers-on-term", "answers-failure"),
    *("holds-again", "survives-kill", "begins-without-checkpoint"),
    *("yields-to-later-start", "begins-no-older-start", "removes-temporary-files"),
    *("removes-done", "removes-old-files", "completes"),
)


def _shows_what_is_on_the_disk() -> bool:
    """A file system in memory has no disk: there the check of fsync is not made."""
    with tempfile.TemporaryDirectory() as folder:  # other processes of the tests try it, too
        try:
            require_visible(Path(folder))
        except NotTestedError:
            return False
        return True


SHOWS = _shows_what_is_on_the_disk()
ALL = {**dict.fromkeys(CHECKS, "ok"), "flushes": "ok" if SHOWS else "not tested"}


def run(*arguments: object, **variables: str) -> tuple[int, dict[str, str], str]:
    """Return exit code, the result of each check, and the whole output."""
    command = [sys.executable, "-m", "shuntyard_trainer.contract_test"]
    command += ["--quiet-seconds", QUIET_SECONDS, "--seconds", "20", *map(str, arguments)]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": LIBRARY, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.stderr == ""
    rows = [(line[:10].strip(), line[11:].split()) for line in done.stdout.splitlines()]
    results = {words[0]: result for result, words in rows if words and words[0] in CHECKS}
    return done.returncode, results, done.stdout


def test_python_without_the_library_keeps_the_contract_to_its_end() -> None:
    code, results, output = run("--to-end", 60, sys.executable, EXAMPLE, STEPS="500")
    assert (code, results) == (0, ALL), output


def test_go_without_any_library_keeps_the_contract_to_its_end(tmp_path: Path) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no Go")
    program = tmp_path / "train"
    subprocess.run([go, "build", "-o", program, IN_GO], check=True, timeout=200)
    code, results, output = run("--to-end", 60, program, STEPS="500")
    assert (code, results) == (0, ALL), output


def test_the_shell_keeps_all_that_it_must(tmp_path: Path) -> None:
    """It does not hold again after a restart of its container, as its page says."""
    program = tmp_path / "train.sh"
    program.write_text(PROGRAMS["train.sh"].text)
    code, results, output = run("--seconds", "10", "bash", program, STEPS="1000000")
    assert code == 0, output
    limits = {"holds-again": "should", "removes-old-files": "should", "completes": "not tested"}
    assert results == {**ALL, **limits}, output


LIBRARY_PROGRAM = """
import json, os, sys, time
from pathlib import Path
from shuntyard_trainer import Checkpoints, MetricsWriter

directory = Path(os.environ["SHUNTYARD_CHECKPOINT_DIR"])
def save(step):
    path = directory / f"step-{step}.json"
    path.write_text(json.dumps(step))
    return path
checkpoints = Checkpoints.from_environment(save, poll_seconds=0.02)
metrics = MetricsWriter.from_environment()
for step in checkpoints.steps(100000):
    time.sleep(0.01)
    metrics.write(step=step + 1, loss=1.0)
"""


def test_the_library_keeps_it(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(LIBRARY_PROGRAM)
    code, results, output = run(sys.executable, program)
    assert code == 0, output
    assert results == {**ALL, "completes": "not tested"}, output


RANKS_PROGRAM = LIBRARY_PROGRAM.replace(
    "poll_seconds=0.02", "agree=agree, poll_seconds=0.02"
).replace(
    "checkpoints = ",
    """
import socket
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    listener = socket.create_server(address)
    others = [listener.accept()[0].makefile("rw") for _ in range(ranks - 1)]
else:
    while True:
        try:
            others = [socket.create_connection(address).makefile("rw")]
            break
        except ConnectionRefusedError:
            time.sleep(0.01)
def say(value):
    for other in others:
        print(value, file=other, flush=True)
def agree(mine):
    if rank:
        say(mine)
        return int(others[0].readline())
    most = max([mine, *(int(other.readline()) for other in others)])
    say(most)
    return most
checkpoints = """,
    1,
)


def test_several_ranks_keep_it(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(RANKS_PROGRAM)
    code, results, output = run("--ranks", 3, sys.executable, program)
    assert code == 0, output
    assert results == {**ALL, "completes": "not tested"}, output


# what is changed in the example, the check that finds it, a part of what it prints
BROKEN: dict[str, tuple[str, str, str, str]] = {
    "it leaves no start": (
        '    os.link(new, FOLDER / f"start-{mine[0]}-{mine[1]}.json")  # fails if it exists\n', "",
        "yields-to-later-start", "there is no start-",
    ),
    "it does not look for a later start": (
        "    found = (START.fullmatch(path.name) for path in FOLDER.iterdir())",
        "    found = (START.fullmatch(path.name) for path in FOLDER.iterdir() if not mine[1])",
        "yields-to-later-start", "a later start: it did not end",
    ),
    "it ends with 0 after a later start": (
        "    if latest() > mine:\n        sys.exit(143)\n\n\n",
        "    if latest() > mine:\n        sys.exit(0)\n\n\n",
        "yields-to-later-start", "exit code 0 after a later start",
    ),
    "it ignores its generation": (
        "int(GENERATION or last[0])", "last[0]", "begins-no-older-start",
        "a start of an older generation",
    ),
    "no trainer.json": ('        "trainer.json",', '        "trainer",', "opens", "trainer.json"),
    "a directory that is not the group's": (
        "FOLDER.chmod(0o2775)", "FOLDER.chmod(0o700)", "opens", "expected 2775"
    ),
    "a step that is a text": (
        '"step": step, "path"', '"step": str(step), "path"', "answers", "expected integer"
    ),
    "any request is for it": (
        'mine = found.get("pod_uid") in {"", UID}', "mine = True", "ignores-others",
        "a request for another pod was answered",
    ),
    "requests that are too late count": (
        'found.get("deadline", 0) > time.time()', "True", "ignores-others",
        "a request whose deadline has passed was answered",
    ),
    "any version counts": (
        'if isinstance(found, dict) and found.get("version") == 1 else {}', "", "ignores-others",
        "a request of another version was answered",
    ),
    "the answer comes without saved.json": (
        '    put("saved.json", **fields)\n', "", "answers", "there is an answer and no saved.json"
    ),
    "the checkpoint is not written": (
        'write(DIRECTORY / f"step-{step}", json', 'write(DIRECTORY / "s", json', "answers", "step-"
    ),
    "files are written in two parts": (
        "        file.write(text)\n    ",
        ("        pass\n    with path.open('w') as file:\n        file.write(text[:9])\n"
        "        file.flush()\n        time.sleep(0.1)\n        file.write(text[9:])\n    "
        "    new.write_text(text)\n    with new.open() as file:\n    "),
        "opens", "is not whole",
    ),
    "temporary files stay": (
        '[*FOLDER.glob(".*.trainer-tmp"), *old]', '[*FOLDER.glob(".start*.trainer-tmp"), *old]',
        "removes-temporary-files", "still there",
    ),
    "the end of an earlier run stays": (
        '        (FOLDER / "done.json").unlink(missing_ok=True)\n', "", "removes-done",
        "done.json of an earlier run",
    ),
    "the checkpoint is not flushed": (
        "        os.fsync(file.fileno())\n", "", "flushes", "bytes were not flushed"
    ),
    "it does not hold": (
        "                hold(name, fields)\n        elif",
        "                pass\n        elif", "holds",
        "it does not hold",
    ),
    "a cancel changes nothing": (
        '(found.get("id"), found.get("action")) == (name, "cancel")', "False",
        "continues-after-cancel", "not within 3 s",
    ),
    "the hold never ends": (
        'found.get("hold_deadline", 0) <= time.time()', "False", "continues-after-deadline",
        "not within 3 s",
    ),
    "it ends with 0": (
        "        time.sleep(0.05)\n    sys.exit(143)", "        time.sleep(0.05)\n    sys.exit(0)",
        "ends-in-hold", "exit code 0",
    ),
    "it begins at the start again": (
        'saved = read("saved.json")', "saved = {}", "resumes", "resumed_step is None"
    ),
    "SIGTERM does not save": (
        "            save(step, weight)\n            sys.exit(143)", "            sys.exit(1)",
        "saves-on-term", "exit code 1",
    ),
    "a second SIGTERM ends it": (  # at its second end; the check before sends one SIGTERM
        "            save(step, weight)\n            sys.exit(143)",
        ("            if (FOLDER / 'once').exists():\n"
        "                signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
        "                time.sleep(3600)\n"
        "            (FOLDER / 'once').touch()\n"
        "            save(step, weight)\n            sys.exit(143)"),
        "ignores-second-term", "exit code -15 after two SIGTERM",
    ),
    "a request that is malformed ends it": (
        "    return found if right else {}", "    return found", "ignores-malformed",
        "the program ended with 1",
    ),
    "a pod must be named": (
        'found.get("pod_uid") in {"", UID}', 'found.get("pod_uid") == UID',
        "continues-after-cancel", "ack-continues.json: not within 3 s",
    ),
    "a checkpoint that is gone ends it": (
        "    except (KeyError, FileNotFoundError) as error:", "    except KeyError as error:",
        "begins-without-checkpoint", "the program ended with 1",
    ),
    "a failed save ends it": (
        "            except OSError as error:\n", "            except ImportError as error:\n",
        "answers-failure", "the program ended with 1",
    ),
    "a failed save is answered without a reason": (
        '"error": str(error)', '"error": ""', "answers-failure", "has no error"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "check", "text"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_found(tmp_path: Path, old: str, new: str, check: str, text: str) -> None:
    if check == "flushes" and not SHOWS:
        pytest.skip("TMPDIR is not on a disk that shows what is not flushed")
    source = EXAMPLE.read_text()
    assert source.count(old) == 1
    program = tmp_path / "train.py"
    program.write_text(source.replace(old, new))
    quiet = QUIET_SECONDS if check in WAIT_FOR_NOTHING else SHORT_SECONDS
    limits = ("--seconds", "3", "--quiet-seconds", quiet)
    code, results, output = run(*limits, sys.executable, program)
    assert (code, [n for n, r in results.items() if r == "FAILED"]) == (1, [check]), output
    assert text in output


# what is changed in the example, the check that names it without failing, what it prints
WASTEFUL: dict[str, tuple[str, str, str, str]] = {
    "old answers stay": (
        "old = answers[:-8] + ", "old = ", "removes-old-files", "answers, the latest 8"
    ),
    "old starts stay": (
        " + [start[2] for start in starts[:-8]]", "", "removes-old-files",
        "starts, the latest 8 should",
    ),
    "it answers once in a hold": (
        "        if other := new_request():", "        if other := '':", "answers-again",
        "ack-again.json: not within 3 s",
    ),
    "SIGTERM comes before a request": (
        "        if name := new_request():",
        "        if (name := new_request()) and not terminating:",
        "answers-on-term", "it ended without an answer",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "check", "text"), WASTEFUL.values(), ids=WASTEFUL)
def test_a_rule_that_costs_work_again_is_named(
    tmp_path: Path, old: str, new: str, check: str, text: str
) -> None:
    source = EXAMPLE.read_text()
    assert source.count(old) == 1
    program = tmp_path / "train.py"
    program.write_text(source.replace(old, new))
    seconds = "3" if "not within 3 s" in text else "20"  # a slow disk may take seconds to flush
    code, results, output = run("--seconds", seconds, sys.executable, program)
    odd = {n: r for n, r in results.items() if r not in {"ok", "not tested"}}
    assert (code, odd) == (0, {check: "should"}), output
    assert text in output


def test_a_command_that_ends_at_once_is_reported_with_its_output(tmp_path: Path) -> None:
    code, results, output = run(sys.executable, "-c", "raise SystemExit('no such dataset')")
    assert (code, results) == (1, {"opens": "FAILED"})
    assert "the program ended with 1" in output
    assert "no such dataset" in output


@pytest.mark.parametrize("arguments", [[], ["--seconds", "0", "x"], ["--seconds", "soon", "x"]])
def test_wrong_usage_has_its_own_exit_code(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        contract_test.main(arguments)
    assert ended.value.code == 2


def test_a_command_that_does_not_exist_is_wrong_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert contract_test.main(["/no/such/program"]) == 2
    assert "/no/such/program" in capsys.readouterr().err


SAVED = {"version": 1, "step": 3, "path": "p", "bytes": 0, "started_at": 1.5, "finished_at": 2}
ACK = {**SAVED, "id": "m-1", "pod_uid": "", "ok": True, "error": ""}
DOCUMENTS: dict[str, tuple[str, Any]] = {
    "saved": ("saved.json", SAVED),
    "with another key": ("saved.json", {**SAVED, "parts": []}),
    "an answer": ("ack-m-1.json", ACK),
    "an unsafe id": ("ack-m-1.json", {**ACK, "id": "a/b"}),
    "an id that is too long": ("ack-m-1.json", {**ACK, "id": "a" * 101}),
    "version 2": ("saved.json", {**SAVED, "version": 2}),
    "a negative step": ("saved.json", {**SAVED, "step": -1}),
    "a step that is no integer": ("saved.json", {**SAVED, "step": 1.5}),
    "a truth value as a step": ("saved.json", {**SAVED, "step": True}),
    "a key is missing": ("saved.json", {k: v for k, v in SAVED.items() if k != "path"}),
    "a list": ("saved.json", []),
    "why it goes on": ("released.json", {"version": 1, "id": "a", "at": 1, "why": "bored"}),
    "null where it may be": (
        "trainer.json",
        {
            "version": 1, "pid": 1, "started_at": 1.0, "resumed_step": None,
            "exits_zero_on_term": False, "pod_uid": "", "rank": 0, "world_size": 1,
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "document"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_the_schema_is_read_as_json_schema_reads_it(name: str, document: Any) -> None:
    schema = json.loads(contract_schema.PATH.read_text())
    kind = "ack.json" if name.startswith("ack-") else name
    judge = jsonschema.Draft202012Validator({**schema, "$ref": f"#/$defs/{kind}"})
    assert judge.is_valid(document) == (not contract_schema.ContractSchema().errors(name, document))


def test_the_distribution_has_the_command_and_the_schema(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (ROOT / "trainer/pyproject.toml").read_text()
    assert '\nshuntyard-contract-test = "shuntyard_trainer.contract_test:main"\n' in text
    assert f'"{contract_schema.PATH.name}"' in text
    assert contract_test.main(["--schema"]) == 0
    assert json.loads(capsys.readouterr().out)["$defs"].keys() >= {"ack.json", "saved.json"}
