"""``python -m bench fresh``: from a clean clone without caches to running jobs on the page.

The clone has a HOME of its own, so that it finds no packages, no modules and no built programs of
this machine; ``--assets`` gives it official programs, as a user may have them. Every step is timed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from bench import results
from devcluster.demo.show import ADDRESS, SUBMITTED

ROOT: Final = Path(__file__).parent.parent
KEPT: Final = re.compile(
    r"PATH|LANG|LC_.*|TMPDIR|.*_(proxy|PROXY)|GO(PROXY|SUMDB)|PIP_(INDEX_URL|TRUSTED_HOST)"
    r"|.*CERTS?(_.*)?|(.*_)?CA(_.*|INFO|PATH)?"
)
"""Of the environment: how the network is reached, and where programs are; no cache, no settings."""
GIVEN: Final = "SHUNTYARD_ASSETS"
_PAGE: Final = re.compile(rf"{re.escape(ADDRESS)}(\S+)/ui/,")
_INSTALLING: Final = "installing "
_POLL_SECONDS: Final = 0.2
_REQUEST_SECONDS: Final = 5.0
_RUNS: Final = "a job that runs"


@dataclass(frozen=True)
class Row:
    """One step.

    Attributes:
        step: What is there at its end.
        seconds: That it took.
        after_seconds: From the beginning to its end.
        load: Mean number of processes that ran or waited for a core in its last minute.
    """

    step: str
    seconds: float
    after_seconds: float
    load: float


@dataclass
class Steps:
    """The steps so far; ``clock`` gives seconds."""

    clock: Callable[[], float] = time.monotonic
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def done(self, step: str) -> None:
        """End a step and print it."""
        after = self.clock() - self._began
        before = self.rows[-1].after_seconds if self.rows else 0.0
        load = round(os.getloadavg()[0], 1)
        self.rows.append(Row(step, round(after - before, 1), round(after, 1), load))
        print(f"{after - before:7.1f} s {after:7.1f} s  load {load:4.1f}  {step}", flush=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--assets", type=Path, help="directory of official programs")
    parser.add_argument("--json", type=Path, help="write the rows to this file")


def run(options: argparse.Namespace) -> int:
    """Clone, start the demo, wait for a job that runs; print each step; return the exit code."""
    steps = Steps()
    with tempfile.TemporaryDirectory(prefix="shuntyard-fresh-") as directory:
        home, clone = Path(directory) / "home", Path(directory) / "shuntyard"
        home.mkdir()
        git = shutil.which("git") or "git"
        subprocess.run([git, "clone", "--quiet", ROOT, clone], check=True)  # noqa: S603 - our own
        steps.done("the clone")
        make = shutil.which("make") or "make"
        command = [make, "--quiet", "demo", "ONCE=1"]
        code = follow(command, clone, surroundings(os.environ, home, options.assets), steps)
        _make_removable(Path(directory))
    if options.json:
        results.write(options.json, [asdict(row) for row in steps.rows])
    return code


def surroundings(
    environ: Mapping[str, str], home: Path, assets: Path | None = None
) -> dict[str, str]:
    """Return the environment of a user with only the clone, and ``assets`` if given."""
    kept = {name: value for name, value in environ.items() if KEPT.fullmatch(name)}
    given = {GIVEN: str(assets.resolve())} if assets else {}
    return kept | {"HOME": str(home)} | given


def follow(command: Sequence[str], clone: Path, environ: Mapping[str, str], steps: Steps) -> int:
    """Run the demo to its end, and note each step.

    Returns:
        Its exit code; 1 if it ended well and no job was seen running on its page.
    """
    with subprocess.Popen(  # noqa: S603 - our own program
        command, cwd=clone, env=environ, stdout=subprocess.PIPE, text=True
    ) as demo:
        assert demo.stdout is not None  # noqa: S101 - for the type checker
        watcher = None
        is_installed = False
        for line in demo.stdout:
            if not is_installed and not line.startswith(_INSTALLING):
                is_installed = True
                steps.done("the packages")
            if line.startswith(SUBMITTED):
                steps.done("the programs and the control plane; the jobs are submitted")
            elif (found := _PAGE.match(line)) is not None:
                steps.done("the address of the page")
                watcher = threading.Thread(target=_wait_for_jobs, args=(found[1], demo, steps))
                watcher.start()
            elif not line.startswith(" "):
                print(f"    {line.rstrip()[:160]}", file=sys.stderr)
        code = demo.wait()
        if watcher is not None:
            watcher.join()
    steps.done("the end of the demo")
    seen = any(row.step == _RUNS for row in steps.rows)
    return code if code or seen else 1


def _wait_for_jobs(url: str, demo: subprocess.Popen[str], steps: Steps) -> None:
    """Wait until the page answers and its list has a job that runs, or until the demo has ended."""
    while not _get(f"{url}/ui/"):
        if demo.poll() is not None:
            return
        time.sleep(_POLL_SECONDS)
    steps.done("the page")
    while demo.poll() is None:
        jobs = json.loads(_get(f"{url}/v1/jobs") or b"{}").get("entries", ())
        if any(job["state"] == "running" for job in jobs):
            steps.done(_RUNS)
            return
        time.sleep(_POLL_SECONDS)


def _get(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=_REQUEST_SECONDS) as answer:  # noqa: S310 - http
            body: bytes = answer.read()
            return body
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return b""


def _make_removable(directory: Path) -> None:
    """Let the folder be removed: Go makes its modules read-only."""
    for folder, _, _ in os.walk(directory):
        Path(folder).chmod(0o755)
