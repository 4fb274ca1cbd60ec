"""Keeps the result of each case in ``results.json``, from which docs/generate.py makes a table."""

from __future__ import annotations

import hashlib
import json
from importlib import metadata
from pathlib import Path

import pytest

RESULTS = Path(__file__).parent / "results.json"
PROGRAMS = Path(__file__).parent / "programs"
_DECIDES = "losses"
"""Part of the name of the test that says whether a case is on the page; it moves twice, too."""
_FAILED: set[str] = set()
_FOUND: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    case = dict(report.user_properties).get("case")
    if not isinstance(case, str) or report.when != "call":
        return
    if report.failed:
        _FAILED.add(case)
    if _DECIDES in report.nodeid:
        _FOUND.add(case)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Replace the results of the cases whose losses were compared, or are known to differ.

    ``passed`` is null for a case that never ran; ``digest`` is of the program that ran. With xdist
    the controller knows all results.
    """
    if hasattr(session.config, "workerinput"):
        return
    from tests.frameworks.cases import CASES  # noqa: PLC0415 - the path is known only now

    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    ran = _FOUND | _FAILED
    found = {}
    for name, case in CASES.items():
        row = {"program": case.program, "module": case.module, "differs": case.differs}
        old = kept.get(name, {"passed": None, "versions": {}, "digest": ""})
        passed = name not in _FAILED if name in ran else old["passed"]
        versions = {p: version for p in case.packages if (version := _version(p))}
        found[name] = {
            **row,
            "passed": passed,
            "versions": versions if name in ran else old["versions"],
            "digest": _digest(case.program) if name in ran else old["digest"],
        }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _digest(program: str) -> str:
    return hashlib.sha256((PROGRAMS / f"{program}.py").read_bytes()).hexdigest()


def _version(package: str) -> str:
    try:
        return metadata.version({"orbax": "orbax-checkpoint"}.get(package, package)).split("+")[0]
    except metadata.PackageNotFoundError:
        return ""
