"""A pytest plugin: tests are collected once, and several processes run them.

To collect all tests takes a core for a quarter of a minute, for half a minute without bytecode, and
each process of pytest-xdist does it. Here the first process collects, then it forks. The tests of a
module run in one process; modules that have a budget of their own (`tests/gate/budgets.toml`) take
longest, so they come first.
"""

import contextlib
import gc
import os
import signal
import traceback
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Final, NoReturn

import pytest

from tests.gate.records import Records
from tests.gate.reports import Budget

BUDGETS: Final = "computing"
"""The lane whose budgets order the modules."""
_QUIET: Final = ("terminalreporter", "terminalprogress")
"""Plugins of pytest that print what the first process prints."""
Module = Sequence[pytest.Item]


@dataclass
class Process:
    """A process that runs tests.

    Attributes:
        pipe: It sends what happens, and gets the numbers of modules.
        runs: The test that it began last.
        is_done: It has run all that it was given.
    """

    pid: int
    pipe: "Connection[Any, Any]"
    runs: pytest.Item | None = None
    is_done: bool = False

    def end(self) -> None:
        """Interrupt it unless it has run all; wait for its end."""
        self.pipe.close()
        if not self.is_done:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGINT)
        os.waitpid(self.pid, 0)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--processes", type=int, default=1, metavar="N", help="run the modules in N processes"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the collected tests; None leaves that to pytest."""
    count = session.config.getoption("--processes")
    if count == 1 or not session.items or session.testsfailed or session.config.option.collectonly:
        return None
    modules = ordered(session.items, Budget.of_lane(BUDGETS).files)
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all
    gc.freeze()
    processes: list[Process] = []
    try:
        for _ in range(min(count, len(modules))):
            processes.append(_forked(session, modules, processes))
        Run(session, modules).serve(processes)
    finally:
        for process in processes:
            process.end()
    return True


def ordered(items: Sequence[pytest.Item], shares: Mapping[str, float]) -> list[Module]:
    """Return the tests of each module, those with the largest shares of the lane first."""
    modules: dict[str, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.nodeid.partition("::")[0], []).append(item)
    return [modules[path] for path in sorted(modules, key=lambda path: -shares.get(path, 0.0))]


class Run:
    """What the first process does while the others run the tests."""

    def __init__(self, session: pytest.Session, modules: Sequence[Module]) -> None:
        self._session = session
        self._waiting = deque(range(len(modules)))
        self._items = {item.nodeid: item for module in modules for item in module}

    def serve(self, processes: Sequence[Process]) -> None:
        """Hand out modules and report tests until every process has ended."""
        running = {process.pipe: process for process in processes}
        while running:
            for pipe in wait(list(running)):
                assert isinstance(pipe, Connection)
                try:
                    what, value = pipe.recv()
                except (EOFError, ConnectionResetError):
                    self._ended(running.pop(pipe))
                else:
                    self._received(running[pipe], what, value)
                if self._session.shouldfail:
                    raise self._session.Failed(self._session.shouldfail)
                if self._session.shouldstop:
                    raise self._session.Interrupted(self._session.shouldstop)

    def _received(self, process: Process, what: str, value: Any) -> None:
        config = self._session.config
        match what:
            case "wants":
                with contextlib.suppress(BrokenPipeError):  # if it has ended, that is read next
                    process.pipe.send(self._waiting.popleft() if self._waiting else None)
            case "begins":
                process.runs = self._items[value]
            case "report":
                report = config.hook.pytest_report_from_serializable(config=config, data=value)
                config.hook.pytest_runtest_logreport(report=report)
            case _:
                process.is_done = True
                for records in _records(config):
                    records.add(value)

    def _ended(self, process: Process) -> None:
        """Fail the test in which a process ended; the tests of its module after it did not run."""
        if process.is_done:
            return
        item = process.runs or self._session.items[0]
        text = f"{item.nodeid}: its process ended; the tests after it in its module did not run"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
        self._session.config.hook.pytest_runtest_logreport(report=report)


def _forked(
    session: pytest.Session, modules: Sequence[Module], others: Sequence[Process]
) -> Process:
    ours, theirs = Pipe()
    pid = os.fork()
    if not pid:
        for pipe in (ours, *(other.pipe for other in others)):
            pipe.close()
        _live(session, modules, theirs, len(others))
    theirs.close()
    return Process(pid, ours)


def _live(
    session: pytest.Session, modules: Sequence[Module], pipe: "Connection[Any, Any]", number: int
) -> NoReturn:
    """Be one of the processes: run modules as long as there are some, then end."""
    try:
        _be_a_copy(session.config, pipe, number)
        _run(session, modules, pipe)
        reads = [records.reads() for records in _records(session.config)]
        pipe.send(("done", reads[0] if reads else {}))
    except (KeyboardInterrupt, BrokenPipeError, EOFError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        session._setupstate.teardown_exact(None)  # as pytest does at an interrupt
    except BaseException:  # noqa: BLE001 - it is the end of a process
        traceback.print_exc()
    finally:
        os._exit(0)


def _be_a_copy(config: pytest.Config, pipe: "Connection[Any, Any]", number: int) -> None:
    """Give up what the processes cannot share: terminal, captured output, temporary directory."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    plugins = config.pluginmanager
    for name in _QUIET:
        plugins.unregister(name=name)
    capturing = plugins.getplugin("capturemanager")
    capturing.stop_global_capturing()
    capturing.start_global_capturing()
    capturing.suspend_global_capture()
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.getbasetemp() / f"p{number}"
    factory.getbasetemp().mkdir(mode=0o700)
    plugins.register(_Sender(config, pipe))


def _run(session: pytest.Session, modules: Sequence[Module], pipe: "Connection[Any, Any]") -> None:
    """Run the modules that are given; what the session's fixtures made stays until the end."""
    while True:
        pipe.send(("wants", None))
        number = pipe.recv()
        if number is None:
            break
        module = modules[number]
        for item, following in zip(module, [*module[1:], session], strict=True):
            pipe.send(("begins", item.nodeid))
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    session._setupstate.teardown_exact(None)


class _Sender:
    """Sends the reports of a process to the first one."""

    def __init__(self, config: pytest.Config, pipe: "Connection[Any, Any]") -> None:
        self._config = config
        self._pipe = pipe

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self._config.hook
        data = hook.pytest_report_to_serializable(config=self._config, report=report)
        self._pipe.send(("report", data))


def _records(config: pytest.Config) -> list[Records]:
    """Return the notes of durations and reads; none unless `tests.gate.records` is in use."""
    return [one for one in config.pluginmanager.get_plugins() if isinstance(one, Records)]
