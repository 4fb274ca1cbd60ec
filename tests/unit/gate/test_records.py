"""Which opened files a run notes, and for which test module."""

from types import SimpleNamespace

import pytest
from blockbuster import blockbuster_ctx

from tests.gate import records
from tests.gate.records import Records

MODULE = "tests/unit/test_a.py"


@pytest.fixture
def notes(tmp_path):
    """Notes of a worker: they are sent to the first process at the end of the session."""
    output = {}
    config = SimpleNamespace(workeroutput=output, getoption=lambda _name: tmp_path / "lane.json")
    return Records(config), output


def during(running, module, *paths):
    """Open files while the module runs; the audit hook is called as the interpreter would."""
    node = SimpleNamespace(nodeid=f"{module}::test_it")
    protocol = running.pytest_runtest_protocol(node)
    next(protocol)
    for path in paths:
        running.note("open", (path, "r", 0))
    with pytest.raises(StopIteration):
        protocol.send(None)


def sent(running, output):
    running.pytest_sessionfinish()
    return output["shuntyard_reads"]


OPENED = {
    "a file of the repository": (f"{records.ROOT}docs/faq.md", ["docs/faq.md"]),
    "a relative path": ("docs/faq.md", ["docs/faq.md"]),
    "Python": (f"{records.ROOT}agent/main.py", None),
    "a file elsewhere": ("/etc/hosts", None),
    "a file descriptor": (3, None),
}


@pytest.mark.parametrize(("path", "noted"), OPENED.values(), ids=OPENED)
def test_opened_files_of_the_repository_are_recorded_but_python_files(notes, path, noted):
    running, output = notes
    during(running, MODULE, path)
    assert sent(running, output).get(MODULE) == noted


def test_a_file_opened_between_tests_is_recorded_for_none(notes):
    running, output = notes
    during(running, MODULE)
    running.note("open", ("pyproject.toml", "r", 0))
    assert sent(running, output) == {}


@pytest.mark.parametrize(("last", "noted"), [(True, {}), (False, {MODULE: ["docs/faq.md"]})])
def test_a_file_opened_in_the_last_teardown_is_recorded_for_no_module(notes, last, noted):
    """It ends fixtures of the session, which may have begun in another module."""
    running, output = notes
    protocol = running.pytest_runtest_protocol(SimpleNamespace(nodeid=f"{MODULE}::test_it"))
    next(protocol)
    next(running.pytest_runtest_teardown(nextitem=None if last else SimpleNamespace()))
    running.note("open", ("docs/faq.md", "r", 0))
    with pytest.raises(StopIteration):
        protocol.send(None)
    assert sent(running, output) == noted


async def test_recording_blocks_no_event_loop(notes):
    running, output = notes
    with blockbuster_ctx():
        during(running, MODULE, "docs/faq.md", f"{records.ROOT}docs/cli.md")
    assert sent(running, output) == {MODULE: ["docs/cli.md", "docs/faq.md"]}


def test_reads_of_workers_are_merged(notes):
    running, output = notes
    for path in ("b.md", "a.md"):
        reads = {"shuntyard_reads": {MODULE: [path]}}
        running.pytest_testnodedown(SimpleNamespace(workeroutput=reads))
    assert sent(running, output) == {MODULE: ["a.md", "b.md"]}
