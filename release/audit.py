"""Do the locked versions have known vulnerabilities? pip-audit asks the database.

Without a network pip-audit reports every package as skipped and ends with "No known
vulnerabilities found". Here that is a skipped audit, with its reason, and never a pass.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from release.errors import ReleaseError
from release.locks import LOCKS, Lock

SECONDS: Final = 120.0
"""For one lock: a database that does not answer must not hold up the gate."""
OFFLINE: Final = ("ConnectionError", "ConnectTimeout", "ReadTimeout", "ProxyError", "Could not")

Run = Callable[[Lock], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Audit:
    """Known vulnerabilities of the packages of one lock.

    Attributes:
        vulnerable: A line for each vulnerability: package, version, id, versions with the fix.
        unknown: Packages that the database did not answer for.
        asked: How many packages it answered for.
        skipped: Why nothing was asked; empty if something was.
    """

    vulnerable: tuple[str, ...] = ()
    unknown: tuple[str, ...] = field(default=())
    asked: int = 0
    skipped: str = ""


def run(lock: Lock) -> "subprocess.CompletedProcess[str]":
    """Run pip-audit on a lock; nothing is installed for it."""
    command = (
        *(sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip"),
        *("--progress-spinner", "off", "--timeout", "10", "--format", "json"),
        *("--requirement", str(lock.file)),
    )
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=SECONDS)


def audit(lock: Lock, run: Run = run) -> Audit:
    """Return the known vulnerabilities of a lock's packages.

    Raises:
        ReleaseError: pip-audit failed for another reason than a missing network.
    """
    try:
        done = run(lock)
    except subprocess.TimeoutExpired:
        return Audit(skipped=f"no answer within {SECONDS:.0f} s")
    try:
        parts: Sequence[Mapping[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        reason = done.stderr.strip().rpartition("\n")[2] or "it printed nothing"
        if any(word in done.stderr for word in OFFLINE):
            return Audit(skipped=f"no network: {reason}")
        raise ReleaseError(f"pip-audit on {lock.file.name}: {reason}") from None
    return _judged(parts)


def _judged(parts: Sequence[Mapping[str, Any]]) -> Audit:
    unknown = tuple(part["name"] for part in parts if "skip_reason" in part)
    if parts and len(unknown) == len(parts):
        reason = f"the database knows none of {len(parts)} packages: {parts[0]['skip_reason']}"
        return Audit(unknown=unknown, skipped=reason)
    vulnerable = tuple(
        f"{part['name']} {part['version']}: {one['id']}, fixed in "
        f"{', '.join(one['fix_versions']) or 'no version yet'}"
        for part in parts
        for one in part.get("vulns", ())
    )
    return Audit(vulnerable, unknown, len(parts) - len(unknown))


def audit_all(report: Callable[[str], None], locks: Sequence[Lock] = LOCKS, run: Run = run) -> bool:
    """Audit the locks and report each; return whether none has a known vulnerability.

    Raises:
        ReleaseError: pip-audit itself failed.
    """
    good = True
    for lock in locks:
        found = audit(lock, run)
        if found.skipped:
            report(f"{lock.file.name}: audit skipped: {found.skipped}")
            continue
        report(f"{lock.file.name}: {found.asked} packages, {len(found.vulnerable)} vulnerabilities")
        for line in found.vulnerable:
            report(f"  {line}")
        if found.unknown:
            report(f"  not in the database: {', '.join(found.unknown)}")
        good = good and not found.vulnerable
    return good
