"""A frozen extender makes its kube-scheduler give up the Lease: both have one liveness probe.

kube-scheduler itself is healthy and would keep the Lease for ever, while it gets no answer.
"""

import os
import signal
from functools import partial

import pytest

from devcluster.errors import ClusterStateError
from devcluster.options import KwokNodes
from devcluster.shuntyard.kubelet_part import ALIVE
from devcluster.shuntyard.outages import Replica
from devcluster.shuntyard.replicas import KUBELET, Replicas
from tests.controlplane.jobs import job
from tests.controlplane.replicas import pairs
from tests.controlplane.replicas.pairs import WHY_NOT, PairYard
from tests.controlplane.yard import Start
from tests.fakes.eventually import eventually

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.e2e,
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "never"),
]

SIZE = 4
LONG_SECONDS = 120.0


@pytest.fixture(scope="module")
def start() -> Start:
    return partial(pairs.start, replicas=Replicas(2, supervised=True))


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL], ids=["frozen", "killed"])
async def test_gangs_are_bound_after_the_leading_extender_froze(
    pair: PairYard, number: signal.Signals
) -> None:
    yard = pair.yard
    await yard.nodes(KwokNodes(1, cpu=str(SIZE)))
    victim = await pair.until_acting()
    await eventually(lambda: is_cared_for(victim), LONG_SECONDS, "its probes have succeeded")
    gone = yard.cluster.pid(victim.extender)
    os.kill(gone, number)
    await yard.submit(job("it", SIZE))
    await eventually(lambda: yard.bound("it") == SIZE, LONG_SECONDS, "the gang is bound")

    def is_back() -> bool:
        try:
            return yard.cluster.pid(victim.extender) != gone
        except ClusterStateError:  # ended, and not started yet
            return False

    await eventually(is_back, LONG_SECONDS, "the kubelet started it again")


def is_cared_for(one: Replica) -> bool:
    """Before its first success a container has as long as its startup probe allows."""
    log_lines = one.cluster.layout.log(KUBELET).read_text().splitlines()
    return {f"{name}: {ALIVE}" for name in (one.extender, one.scheduler)} <= set(log_lines)
