"""`python -m bench gang` from end to end, in small: rows for each scheduler and shape."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from devcluster.programs.differences import differences
from devcluster.programs.versions import RELEASES
from tests.root import ROOT

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

KEYS = {
    "scheduler",
    "shape",
    "pods",
    "bound_per_second",
    "p50_seconds",
    "p99_seconds",
    "partial_gangs",
}
MOST_SECONDS = 600.0
WITH_GANGS = [version for version in sorted(RELEASES) if differences(version).pod_groups]


@pytest.mark.parametrize("kubernetes", WITH_GANGS)
def test_every_scheduler_has_a_row_for_every_shape(tmp_path: Path, kubernetes: str) -> None:
    file, plot = tmp_path / "rows.json", tmp_path / "rows.svg"
    command = [sys.executable, "-m", "bench", "gang", "--against", "plain,intree", "--nodes", "20"]
    command += [
        "--kubernetes",
        kubernetes,
        "--shapes",
        "10x1,2x10",
        "--json",
        str(file),
        "--plot",
        str(plot),
    ]
    subprocess.run(command, cwd=ROOT, check=True, timeout=MOST_SECONDS)
    content = json.loads(file.read_text())
    rows = {(row["scheduler"], row["shape"]): row for row in content["rows"]}
    assert set(rows) == {
        (who, shape) for who in ("plain", "intree", "shuntyard") for shape in ("10x1", "2x10")
    }
    assert all(row.keys() >= KEYS for row in rows.values())
    assert {row["partial_gangs"] for row in rows.values()} == {0}
    assert {who: row["pods"] for (who, shape), row in rows.items() if shape == "2x10"} == {
        "plain": 20,
        "intree": 20,
        "shuntyard": 20,
    }
    assert plot.read_text().startswith("<?xml")
    assert content["machine"]["cores"] > 0
    assert content["versions"]["kubernetes"] == kubernetes
