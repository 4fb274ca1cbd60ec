"""A pytest plugin: how long each test takes, and which files of the repository tests read.

It is loaded by `-p tests.gate.records --records FILE`, and writes JSON (`Record`) to that file.
Files are noted by an audit hook, so what a started process reads is not among them.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = f"{Path(__file__).parents[2]}{os.sep}"
_RECORDS: Final = pytest.StashKey["Records"]()
_SENT: Final = "shuntyard_reads"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--records", metavar="FILE", help="write durations and reads to it (JSON)")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--records"):
        records = Records(config)
        sys.addaudithook(records.note)
        config.pluginmanager.register(records, "records")


class Records:
    """Notes of one process; with xdist the first process gets those of its workers."""

    def __init__(self, config: pytest.Config) -> None:
        self._output: dict[str, Any] | None = getattr(config, "workeroutput", None)
        self._file = Path(config.getoption("--records"))
        self._seconds: dict[str, float] = defaultdict(float)
        self._reads: dict[str, set[str]] = defaultdict(set)
        self._module = ""

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note a file that is opened; an audit hook sees each event of the interpreter."""
        if event != "open" or not self._module:
            return
        path = arguments[0]
        if isinstance(path, str) and not path.endswith((".py", ".pyc")):
            whole = (
                path if path.startswith(os.sep) else f"{ROOT}{path}"
            )  # makes no call that blocks
            if whole.startswith(ROOT):
                self._reads[self._module].add(whole.removeprefix(ROOT))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[Any]:
        return (yield from self._within(collector))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        return (yield from self._within(item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, nextitem: pytest.Item | None) -> Iterator[Any]:
        if nextitem is None:  # it ends the session's fixtures too, which other modules share
            self._module = ""
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for module, paths in getattr(node, "workeroutput", {}).get(_SENT, {}).items():
            self._reads[module].update(paths)

    def pytest_sessionfinish(self) -> None:
        reads = {module: sorted(paths) for module, paths in sorted(self._reads.items())}
        if self._output is not None:
            self._output[_SENT] = reads
            return
        seconds = {name: round(taken, 3) for name, taken in self._seconds.items()}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps({"seconds": seconds, "reads": reads}, indent=1) + "\n")

    def _within(self, node: pytest.Item | pytest.Collector) -> Iterator[Any]:
        before = self._module
        module = node.nodeid.partition("::")[0]
        self._module = module if module.endswith(".py") else before
        try:
            return (yield)
        finally:
            self._module = before
