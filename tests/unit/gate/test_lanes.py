"""Which modules each lane of `make test` collects."""

import pytest

from devcluster.errors import AssetsError
from tests.gate import __main__ as gate
from tests.gate import lanes
from tests.gate.selection import Selection

DEMO = "tests/docs/test_demo.py"
OWN = "tests/controlplane/devcluster/test_process_node.py"
PROMISE = "tests/conformance/test_watches.py"
QUEUE = "tests/controlplane/queue/test_queued_path.py"
QUANTITY = "tests/unit/test_quantity.py"
CHOSEN = Selection((PROMISE, OWN, QUEUE, DEMO, QUANTITY), left_out=("tests/unit/test_duration.py",))
MODULES = {
    lanes.COMPUTING: [PROMISE, OWN, QUEUE, DEMO, QUANTITY],
    lanes.PRODUCT: [QUEUE, DEMO],
    lanes.PLATFORM: [PROMISE, OWN],
    lanes.ALONE: [DEMO],
}


@pytest.mark.parametrize("lane", lanes.LANES, ids=lambda lane: lane.name)
def test_a_lane_collects_the_modules_with_its_marks(lane):
    assert gate.modules(lane, CHOSEN) == MODULES[lane]


def test_the_computing_lane_collects_everything_if_nothing_is_left_out():
    assert gate.modules(lanes.COMPUTING, Selection((OWN, QUANTITY))) == ["tests"]
    assert gate.modules(lanes.PLATFORM, Selection((OWN, QUANTITY))) == [OWN]


def test_a_lane_without_modules_does_not_run():
    assert gate.modules(lanes.ALONE, Selection((QUANTITY,))) == []


def test_a_missing_helm_does_not_stop_the_gate(monkeypatch, capsys):
    asked = []

    def ensure(names, *, report):
        asked.append(names)
        if "helm" in names:
            raise AssetsError("no go")
        return {}

    monkeypatch.setattr("devcluster.programs.assets.ensure", ensure)
    gate.build()
    assert "kube-apiserver" in asked[0], "the tests on a control plane cannot do without"
    assert "left out: what actionlint and helm would have judged: no go" in capsys.readouterr().out
