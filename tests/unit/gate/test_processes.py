"""Tests that are collected once run in several processes, and each is reported once."""

import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.gate import processes
from tests.root import ROOT

NOTED = """
import os, pathlib, time
FOLDER = pathlib.Path(__file__).parent
with (FOLDER / "collected").open("a") as file:
    file.write("x")
def note(what):
    (FOLDER / what).write_text(str(os.getpid()))
"""


@pytest.fixture
def run(tmp_path):
    """Run pytest on modules; return its exit code, its output and what was recorded."""

    def made(*options, **modules):
        for name, text in modules.items():
            (tmp_path / f"test_{name}.py").write_text(NOTED + text)
        (tmp_path / "pytest.ini").write_text("[pytest]")
        whole = [*command(tmp_path), *options]
        done = subprocess.run(whole, capture_output=True, text=True, timeout=100, check=False)
        return done.returncode, done.stdout + done.stderr, tmp_path

    return made


def command(folder):
    plugins = ("-p", "tests.gate.records", "-p", "tests.gate.processes")
    records = ("--records", str(folder / "records.json"))
    options = (*plugins, *records, "--processes", "2", "--rootdir", str(folder), str(folder))
    program = (
        "import sys, pytest; sys.path.insert(0, sys.argv[1]); sys.exit(pytest.main(sys.argv[2:]))"
    )
    return [sys.executable, "-c", program, str(ROOT), *options]


WAITS = """
def test_it():
    note("{0}")
    until = time.monotonic() + 60
    while not (FOLDER / "{1}").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
"""


def test_two_modules_run_beside_each_other_and_each_is_collected_once(run):
    code, output, folder = run(a=WAITS.format("one", "two"), b=WAITS.format("two", "one"))
    assert code == 0, output
    assert "2 passed" in output
    assert (folder / "one").read_text() != (folder / "two").read_text()
    assert (folder / "collected").read_text() == "xx"
    recorded = json.loads((folder / "records.json").read_text())
    assert recorded["seconds"].keys() == {"test_a.py::test_it", "test_b.py::test_it"}


SHARED = """
import pytest
@pytest.fixture(scope="module")
def made():
    with (FOLDER / "made").open("a") as file:
        file.write("x")
    yield
    with (FOLDER / "made").open("a") as file:
        file.write("end")
@pytest.mark.parametrize("number", range(9))
def test_it(made, number, tmp_path):
    (tmp_path / "new").mkdir()
"""


def test_the_tests_of_a_module_share_its_fixtures(run):
    code, output, folder = run(a=SHARED, b="def test_it(): pass")
    assert code == 0, output
    assert "10 passed" in output
    assert (folder / "made").read_text() == "xend"


FAILS = """
import pytest
def test_fails():
    print("what it printed")
    assert 1 == 2
def test_is_skipped():
    pytest.skip("no such thing here")
"""


def test_a_failure_is_shown_with_its_output_and_a_skip_with_its_reason(run):
    code, output, _ = run("-rs", a=FAILS, b="def test_it(): pass")
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "1 failed, 1 passed, 1 skipped" in output
    assert output.count("what it printed") == 2, "its code and its output"
    assert "no such thing here" in output


ENDS = "def test_ends(): os._exit(3)\ndef test_after(): pass"


def test_a_process_that_ends_fails_its_test_and_the_others_go_on(run):
    others = (
        "import pytest\n@pytest.mark.parametrize('number', range(9))\ndef test_it(number): pass"
    )
    code, output, _ = run(a=ENDS, b=others)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "1 failed, 9 passed" in output
    assert "test_a.py::test_ends: its process ended" in output


def test_after_the_first_failure_the_others_are_interrupted_if_that_is_wanted(run):
    waits = """
import pytest
@pytest.fixture
def made():
    note("began")
    yield
    note("cleaned")
def test_it(made):
    time.sleep(60)
"""
    fails = """
def test_it():
    while not (FOLDER / "began").exists():
        time.sleep(0.01)
    assert False
"""
    code, output, folder = run("-x", a=waits, b=fails)
    assert code == pytest.ExitCode.TESTS_FAILED, output
    assert "1 failed" in output
    assert (folder / "cleaned").exists()


def test_an_interrupt_ends_all_processes(run, tmp_path):
    waits = WAITS.format("{0}", "never")
    for name, noted in (("a", "one"), ("b", "two")):
        (tmp_path / f"test_{name}.py").write_text(NOTED + waits.format(noted))
    (tmp_path / "pytest.ini").write_text("[pytest]")
    with subprocess.Popen(
        command(tmp_path),
        stdout=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    ) as running:
        noted = [tmp_path / name for name in ("one", "two")]
        while not all(file.exists() and file.read_text() for file in noted):
            assert running.poll() is None
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(60) == pytest.ExitCode.INTERRUPTED
    for file in noted:
        with pytest.raises(ProcessLookupError):
            os.kill(int(file.read_text()), 0)


def test_modules_with_the_largest_budget_come_first():
    items = [SimpleNamespace(nodeid=f"{name}.py::test") for name in ("a", "b", "c", "a")]
    found = processes.ordered(items, {"b.py": 2.0, "c.py": 3.0})
    assert [[one.nodeid for one in module] for module in found] == [
        ["c.py::test"],
        ["b.py::test"],
        ["a.py::test", "a.py::test"],
    ]
