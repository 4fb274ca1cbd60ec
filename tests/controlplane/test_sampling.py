"""The agent's figures of pods on real process nodes, compared with their programs' own."""

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.sampling.finding import find
from devcluster.cluster import Cluster
from shared.model import Uid
from shared.progress import Use
from tests.controlplane.devcluster.process_yard import ProcessYard, container, own_process, pod
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

BUDGET_CORES = 0.2
BURNING = """
import time
while True:
    sum(range(30000))
    print("step", time.process_time(), flush=True)
"""


@pytest.fixture
def cluster(clean_cluster: Cluster) -> Cluster:
    return clean_cluster


async def started(yard: ProcessYard, name: str, script: str) -> Uid:
    await yard.create(pod(name, container(script)))
    return Uid((await yard.until_phase(name, "Running"))["metadata"]["uid"])


@pytest.mark.parametrize("mechanism", ["cgroup", "slices"])
async def test_the_agent_measures_the_use_that_the_program_reports(
    cluster: Cluster, tmp_path: Path, mechanism: str
) -> None:
    options = ("--cpu-mechanism", mechanism, "--cpu-budget-cores", str(BUDGET_CORES))
    async with own_process(cluster, tmp_path / "nodes", *options) as yard:
        busy = await started(yard, "busy", f"exec python -c '{BURNING}'")
        idle = await started(yard, "idle", "sleep 3600")
        samplers = find(cores_override=BUDGET_CORES)

        def burnt() -> float:
            lines = [one for one in yard.log("busy").splitlines() if one.startswith("step ")]
            return float(lines[-1].split()[1]) if lines else 0.0

        def look() -> tuple[Mapping[Uid, Use], float, float]:
            now = time.monotonic()
            return samplers.pods.sample([busy, idle], now), now, burnt()

        async def measured() -> tuple[Mapping[Uid, Use], float, float]:
            """Two samples; a pause of this process between the sample and the log shifts one."""
            _, begun, before = look()
            await eventually(lambda: burnt() > before + 0.3)
            uses, ended, after = look()
            cores = (after - before) / (ended - begun)
            assert uses[busy].cpu_cores == pytest.approx(cores, rel=0.25), samplers.description
            return uses, ended, cores

        await eventually(lambda: burnt() > 0)
        uses, ended, cores = await eventually(measured)
        samplers.close()
        assert uses[idle].cpu_cores == pytest.approx(0, abs=0.01)
        assert all(2**19 < (use.memory_bytes or 0) < 2**28 for use in uses.values()), uses
        assert (uses[busy].throttled_ratio is None) == (mechanism == "slices"), uses
        node, _ = samplers.node.sample(ended, uses.values())
        assert node.cpu_cores == pytest.approx(cores, rel=0.25)
