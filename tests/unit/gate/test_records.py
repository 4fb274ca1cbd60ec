"""Which opened files a run notes, and for which test module."""

from types import SimpleNamespace

import pytest
from blockbuster import blockbuster_ctx

from tests.gate import records
from tests.gate.records import Records

MODULE = "tests/unit/test_a.py"


@pytest.fixture
def notes(tmp_path):
    return Records(SimpleNamespace(getoption=lambda _name: tmp_path / "lane.json"))


def during(running, module, *paths):
    """Open files while the module runs; the audit hook is called as the interpreter would."""
    node = SimpleNamespace(nodeid=f"{module}::test_it")
    protocol = running.pytest_runtest_protocol(node)
    next(protocol)
    for path in paths:
        running.note("open", (path, "r", 0))
    with pytest.raises(StopIteration):
        protocol.send(None)


OPENED = {
    "a file of the repository": (f"{records.ROOT}docs/faq.md", ["docs/faq.md"]),
    "a relative path": ("docs/faq.md", ["docs/faq.md"]),
    "Python": (f"{records.ROOT}agent/main.py", None),
    "a file elsewhere": ("/etc/hosts", None),
    "a file descriptor": (3, None),
}


@pytest.mark.parametrize(("path", "noted"), OPENED.values(), ids=OPENED)
def test_opened_files_of_the_repository_are_recorded_but_python_files(notes, path, noted):
    during(notes, MODULE, path)
    assert notes.reads().get(MODULE) == noted


def test_a_file_opened_between_tests_is_recorded_for_none(notes):
    during(notes, MODULE)
    notes.note("open", ("pyproject.toml", "r", 0))
    assert notes.reads() == {}


@pytest.mark.parametrize(("last", "noted"), [(True, {}), (False, {MODULE: ["docs/faq.md"]})])
def test_a_file_opened_in_the_last_teardown_is_recorded_for_no_module(notes, last, noted):
    """It ends fixtures of the session, which may have begun in another module."""
    protocol = notes.pytest_runtest_protocol(SimpleNamespace(nodeid=f"{MODULE}::test_it"))
    next(protocol)
    next(notes.pytest_runtest_teardown(nextitem=None if last else SimpleNamespace()))
    notes.note("open", ("docs/faq.md", "r", 0))
    with pytest.raises(StopIteration):
        protocol.send(None)
    assert notes.reads() == noted


async def test_recording_blocks_no_event_loop(notes):
    with blockbuster_ctx():
        during(notes, MODULE, "docs/faq.md", f"{records.ROOT}docs/cli.md")
    assert notes.reads() == {MODULE: ["docs/cli.md", "docs/faq.md"]}


def test_reads_of_other_processes_are_added(notes):
    for path in ("b.md", "a.md"):
        notes.add({MODULE: [path]})
    assert notes.reads() == {MODULE: ["a.md", "b.md"]}
