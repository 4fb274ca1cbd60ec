"""An audit that could not ask is skipped with its reason and never passes (defect A11)."""

import json
import subprocess

import pytest

from release import audit
from release.errors import ReleaseError
from release.locks import LOCKS

UNKNOWN = {"name": "aiohttp", "skip_reason": "Dependency not found on PyPI"}
GOOD = {"name": "yarl", "version": "1.25.1", "vulns": []}
BAD = {
    "name": "urllib3",
    "version": "1.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": [], "description": ""}],
}


def answer(parts=None, stderr="", code=0):
    text = "" if parts is None else json.dumps({"dependencies": parts, "fixes": []})
    return lambda _lock: subprocess.CompletedProcess((), code, text, stderr)


def reported(run):
    lines: list[str] = []
    good = audit.audit_all(lines.append, LOCKS[:1], run)
    return good, "\n".join(lines)


def test_a_vulnerable_version_fails_and_says_where_it_is_fixed():
    good, text = reported(answer([GOOD, BAD], code=1))
    assert not good
    assert "urllib3 1.0: PYSEC-1, fixed in 1.1" in text


def test_versions_without_a_known_vulnerability_pass():
    assert reported(answer([GOOD])) == (True, "build.txt: 1 packages, 0 vulnerabilities")


def test_a_database_that_knows_nothing_is_no_pass():
    """pip-audit itself ends with 0 and "No known vulnerabilities found" then."""
    good, text = reported(answer([UNKNOWN, UNKNOWN]))
    assert good
    assert text.startswith("build.txt: audit skipped: the database knows none of 2 packages")


def test_a_package_that_is_not_in_the_database_is_named():
    assert "not in the database: aiohttp" in reported(answer([GOOD, UNKNOWN]))[1]


def test_without_a_network_it_is_skipped_with_the_reason():
    run = answer(None, "Traceback\nrequests.exceptions.ConnectionError: refused", 1)
    assert reported(run) == (
        True,
        "build.txt: audit skipped: no network: requests.exceptions.ConnectionError: refused",
    )


def test_no_answer_in_time_is_skipped_with_the_reason():
    def run(_lock):
        raise subprocess.TimeoutExpired("pip-audit", audit.SECONDS)

    assert "no answer within 120 s" in reported(run)[1]


def test_another_failure_of_pip_audit_is_an_error():
    with pytest.raises(ReleaseError, match=r"build\.txt: hashes do not parse"):
        reported(answer(None, "hashes do not parse", 1))
