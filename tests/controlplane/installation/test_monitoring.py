"""The demo under a real Prometheus: every query of every panel and rule returns a result."""

from pathlib import Path

import pytest

from bench.dashboards import monitored
from monitoring import pictures, programs
from monitoring.dashboards import ALL
from monitoring.dashboards.parkings import PARKINGS
from monitoring.dashboards.teams import TEAMS
from monitoring.rules.recording import RECORDINGS

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.e2e,
    pytest.mark.skipif(
        programs.find("prometheus") is None,
        reason=f"prometheus is not here; `{programs.COMMAND}` gets it from Debian",
    ),
]


def test_every_query_has_a_result_and_a_good_run_raises_no_alert(tmp_path: Path) -> None:
    seen = monitored.watched(tmp_path / "run")
    assert seen.empty == ()
    assert {one.name for one in RECORDINGS} - seen.recorded == set()
    assert seen.firing == frozenset()
    instances = {one.instance for one in seen.scraped}
    assert instances == {"extender", "node-0000", "node-0001", "node-0002"}
    pictures.draw(seen.drawn, tmp_path / "pictures")
    drawn = {file.stem for file in (tmp_path / "pictures").iterdir()}
    assert drawn == {one.name for one in ALL} - {TEAMS.name, PARKINGS.name}, (
        "`bench recorded` draws them"
    )
