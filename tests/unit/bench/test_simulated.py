"""The benchmark of the simulator measures its growth."""

import argparse
from dataclasses import asdict

from bench import report, simulated


def test_three_things_grow_one_after_the_other():
    options = argparse.Namespace(jobs=3000, nodes=200, backlog=10)
    assert list(simulated.sizes(options)) == [
        ("jobs", 1000, 50, 0),
        ("jobs", 3000, 50, 0),
        ("nodes", 3000, 100, 0),
        ("nodes", 3000, 200, 0),
        ("backlog", 100, 50, 10),
    ]


def test_the_workload_completes_and_its_cost_is_counted():
    row = simulated.measure("jobs", 40, 2, 0)
    assert row.jobs == 40
    assert row.looks >= 40
    assert row.cpu_seconds > 0
    assert row.peak_bytes > 10 * 2**20


def test_a_backlog_has_the_requested_number_of_waiting_jobs():
    work = simulated.queued(20, 2, 30)
    result = simulated.simulate(work, simulated.EngineDecider(), until=0.0)
    waiting = [one for one in result.jobs if one.started_at is None]
    assert len(waiting) >= 30
    assert result.utilisation == {}
    assert simulated.measure("backlog", 20, 2, 30).jobs > 0


def test_the_rows_are_drawn_and_tabled(tmp_path):
    row = asdict(simulated.Row("jobs", 1000, 50, 0, 2000, 4.0, 250.0, 2.0, 9 * 10**7))
    rows = [row, {**row, "by": "nodes"}, {**row, "by": "backlog", "backlog": 10}]
    file = tmp_path / "simulated.svg"
    simulated.draw(rows, file)
    first = file.read_bytes()
    simulated.draw(rows, file)
    assert file.read_bytes() == first
    assert "| jobs | 1,000 | 50 | 0 | 250 | 2.0 ms | 90 MB |" in list(report.simulated(rows))
