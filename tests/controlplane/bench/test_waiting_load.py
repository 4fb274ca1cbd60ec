"""Pods that wait and cannot run cost next to nothing on a real control plane (docs/performance.md).

3000 of them, not the 10,000 of the published figure: those take minutes to create where tests run.
What is asserted is a share of a core over a window in which nothing happens, far above what is
measured; no time.
"""

import asyncio

import pytest

from bench.gang.shapes import Kind, Shape
from bench.waiting import QUIET, measure
from devcluster.cluster import Cluster
from devcluster.options import KwokNodes

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

GANGS = Shape(300, 10)
NODES = KwokNodes(20)
WINDOW_SECONDS = 10.0
MOST_SHARE = 0.10


def test_waiting_pods_cost_less_than_a_tenth_of_a_core(clean_cluster: Cluster) -> None:
    clean_cluster.add_kwok_nodes(NODES)
    clean_cluster.start_shuntyard()
    clean_cluster.stop(QUIET[0])
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        row = runner.run(measure(clean_cluster, GANGS, Kind.GATED, NODES, WINDOW_SECONDS))
    assert row.pods == GANGS.total
    for component in ("extender", "kube-scheduler"):
        assert row.core_share[component] < MOST_SHARE, row
