"""``bench filter``: its server starts, and answers every kind of request."""

from argparse import Namespace
from pathlib import Path

import msgspec

from bench.decisions import filtering


def test_every_kind_is_measured_at_rest_and_in_change(tmp_path: Path) -> None:
    file = tmp_path / "filter.json"
    assert filtering.run(Namespace(nodes=10, pods=20, requests=3, json=file)) == 0
    rows = msgspec.json.decode(file.read_bytes())["rows"]
    kinds = {pod for pod, _, _ in filtering.requests(10)}
    assert {(row["pod"], row["changing"]) for row in rows} == {
        (kind, changing) for kind in kinds for changing in (False, True)
    }
    assert all(row["p50_ms"] > 0 for row in rows)
