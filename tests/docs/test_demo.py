"""`make demo ONCE=1` keeps the promise of the README."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.docs.pages import ROOT

MOST_SECONDS = 900.0


@pytest.mark.controlplane
@pytest.mark.alone
def test_the_demo_completes_every_job_in_order_and_as_whole_gangs(tmp_path: Path) -> None:
    """As a rule a job moves: where the machine is busy at that moment, no move may pay."""
    assert _moves_of_a_run(tmp_path / "demo") or _moves_of_a_run(tmp_path / "again")


def _moves_of_a_run(directory: Path) -> list[dict[str, Any]]:
    """Run the demo, which does all it promises; return the moves that were completed."""
    command = [sys.executable, "-m", "devcluster.demo", "--once", "--dir", str(directory)]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=MOST_SECONDS, check=False
    )
    summary = json.loads(done.stdout.splitlines()[-1])
    moved = [move for move in summary["migrations"] if move["phase"] == "Completed"]
    assert done.returncode == (0 if moved else 1), done.stdout
    assert summary["completed"] == summary["jobs"], done.stdout
    assert (summary["partial_gangs"], summary["order_violations"]) == (0, [])
    assert all(move["resumed_step"] == move["acked_step"] > 0 for move in moved), moved
    assert sum(summary["repeated_steps"].values()) == 0
    assert summary["order_forced"] > 0
    assert summary["order"][0]["job"] == summary["submitted"][-1]
    assert all(last < first for first, last in summary["losses"].values())
    assert [p.pid for p in psutil.process_iter(["cmdline"]) if _mentions(p, directory)] == []
    return moved


def _mentions(process: psutil.Process, directory: Path) -> bool:
    return any(str(directory) in word for word in process.info["cmdline"] or ())
