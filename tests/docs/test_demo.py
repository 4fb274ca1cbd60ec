"""`make demo ONCE=1` keeps the promise of the README."""

import json
import re
import subprocess
import sys
import threading
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import pytest

from shared.page.serving import PATH
from tests.docs.pages import ROOT

MOST_SECONDS = 900.0
STATIC = ROOT / "shared" / "page" / "static"
PAGE = re.compile(r"^The page: \S+, or `\S*shuntyard ui --url (\S+)`$", re.MULTILINE)


@pytest.mark.controlplane
@pytest.mark.alone
def test_the_demo_completes_every_job_in_order_and_as_whole_gangs(tmp_path: Path) -> None:
    """As a rule a job moves: where the machine is busy at that moment, no move may pay."""
    assert _moves_of_a_run(tmp_path / "demo") or _moves_of_a_run(tmp_path / "again")


def _moves_of_a_run(directory: Path) -> list[dict[str, Any]]:
    """Run the demo, which does all it promises; return the moves that were completed."""
    code, printed = _run(directory)
    summary = json.loads(printed.splitlines()[-1])
    moved = [move for move in summary["migrations"] if move["phase"] == "Completed"]
    assert code == (0 if moved else 1), printed
    assert summary["completed"] == summary["jobs"], printed
    assert (summary["partial_gangs"], summary["order_violations"]) == (0, [])
    assert all(move["resumed_step"] == move["acked_step"] > 0 for move in moved), moved
    assert all(summary["last"].values()), summary["last"]
    assert sum(summary["repeated_steps"].values()) == 0
    assert summary["order_forced"] > 0
    assert summary["order"][0]["job"] == summary["submitted"][-1]
    assert all(last < first for first, last in summary["losses"].values())
    assert [p.pid for p in psutil.process_iter(["cmdline"]) if _mentions(p, directory)] == []
    return moved


def _run(directory: Path) -> tuple[int, str]:
    """Run the demo and look at its page as soon as its address is printed."""
    command = [sys.executable, "-m", "devcluster.demo", "--once", "--dir", str(directory)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        limit = threading.Timer(MOST_SECONDS, process.kill)
        limit.start()
        assert process.stdout is not None
        lines, shown = [], []
        for line in process.stdout:
            lines.append(line)
            shown += [_page_through_ui(url) for url in PAGE.findall(line)]
        limit.cancel()
    assert shown == [(STATIC / "index.html").read_text()], "".join(lines)
    return process.returncode, "".join(lines)


def _page_through_ui(url: str) -> str:
    """Return the page of the command that was printed."""
    command = [sys.executable, "-u", "-m", "cli", "ui", "--no-browser", "--url", url]
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().removeprefix("Open ").strip()
            browser.open(link).close()
            with browser.open(urllib.parse.urljoin(link, PATH)) as answer:
                return str(answer.read().decode())
        finally:
            process.terminate()


def _mentions(process: psutil.Process, directory: Path) -> bool:
    return any(str(directory) in word for word in process.info["cmdline"] or ())
