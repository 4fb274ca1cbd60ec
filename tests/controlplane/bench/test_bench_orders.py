"""`python -m bench orders` from end to end, in small: programs train, live and simulated rows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.root import ROOT

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

MOST_SECONDS = 600.0


def test_an_order_has_a_live_and_a_simulated_run_and_no_step_is_lost(tmp_path: Path) -> None:
    file, plot = tmp_path / "runs.json", tmp_path / "runs.svg"
    command = [sys.executable, "-m", "bench", "orders", "--orders", "creation,service"]
    command += ["--seeds", "1", "--jobs", "6", "--arrive-seconds", "5"]
    command += ["--json", str(file), "--plot", str(plot)]
    done = subprocess.run(
        command, cwd=ROOT, check=True, timeout=MOST_SECONDS, capture_output=True, text=True
    )
    rows = json.loads(file.read_text())["rows"]
    assert [(row["how"], row["order"]) for row in rows] == [
        ("live", "creation"),
        ("live", "service"),
        ("simulated", "creation"),
        ("simulated", "service"),
    ]
    assert [row["wrong_steps"] for row in rows] == [0] * 4
    assert all(job["loss_difference"] < 1e-9 for row in rows for job in row["jobs"])
    assert "| `service` / `creation` | mean |" in done.stdout
    assert plot.read_text().startswith("<?xml")
