"""The agent's image at work: it reads a container's log, and a real extender gets the report."""

import asyncio
from pathlib import Path

import pytest
import yaml

from devcluster.real_nodes import dockerfiles
from devcluster.real_nodes.dockerfiles import Builder
from shared.kube import paths
from shared.readapi import api
from tests.component.agents import Trust, Yard, member, yard
from tests.component.shell import node
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.e2e

NAME = "shuntyard-agent"
MOST_BYTES = 50_000_000
"""Memory of the whole process, with one pod."""
LOG = "".join(
    f"2026-11-20T10:00:{step:02}.000000000Z stdout F iter {step}: loss {2 - step / 10:.4f}\n"
    for step in range(1, 9)
)
PROGRAM = f"""exec 2>&1
/opt/shuntyard/bin/{NAME} --settings /given/agent.yaml &
agent=$!
while [ ! -e /given/stop ] && kill -0 $agent; do sleep 0.2; done
sed -n 's/^VmRSS:[^0-9]*\\([0-9]*\\) kB/\\1/p' /proc/$agent/status
kill -TERM $agent
wait $agent
"""
"""Prints the agent's log and its memory, in KiB, and ends with its exit code."""


@pytest.fixture
def builder() -> Builder:
    if reasons := dockerfiles.why_not():
        pytest.skip(f"no images can be built here: {'; '.join(reasons)}")
    return dockerfiles.builder(print)


def lay_out(directory: Path, trust: Trust, cluster: Yard) -> dict[Path, str]:
    """Make what the DaemonSet mounts; return where the container has it."""
    given, logs, volume = directory / "given", directory / "pods", directory / "volume"
    (pod,) = cluster.fake.objects(paths.PODS)
    log = logs / f"default_train-0_{pod['metadata']['uid']}" / "main" / "0.log"
    for folder in (given, log.parent, volume):
        folder.mkdir(parents=True)
    log.write_text(LOG)
    (given / "ca.crt").write_bytes(trust.authority.read_bytes())
    (given / "token").write_text(cluster.token("n1"))
    settings = {
        "agent": {"node": "n1"},
        "extender": {"urls": [cluster.url], "authority": "/given/ca.crt", "token": "/given/token"},
        "sampling": {"source": "none"},
        "api": {"listen_port": 0},
    }
    (given / "agent.yaml").write_text(yaml.safe_dump(settings))
    return {given: "/given", logs: "/var/log/pods", volume: "/var/lib/shuntyard/volume"}


async def test_a_report_of_a_log_arrives(builder: Builder, tmp_path: Path) -> None:
    trust = await asyncio.to_thread(Trust.create, tmp_path / "pki")
    image = await asyncio.to_thread(builder.kept, NAME)
    async with FakeKube.running() as fake:
        fake.put(paths.NODES, node("n1"))
        fake.put(paths.PODS, member("train-0", "n1"))
        async with yard(trust, fake) as cluster:
            lent = await asyncio.to_thread(lay_out, tmp_path, trust, cluster)
            command = ("sh", "-c", PROGRAM)
            running = asyncio.create_task(
                asyncio.to_thread(lambda: builder.run(image, *command, lent=lent))
            )
            try:
                await eventually(lambda: _has_step(cluster, 8), within_seconds=240.0)
            finally:
                await asyncio.to_thread((tmp_path / "given/stop").touch)
                printed = await running
    (kib,) = [line for line in printed.splitlines() if line.isdigit()]
    assert int(kib) * 1024 < MOST_BYTES, printed


async def _has_step(cluster: Yard, step: int) -> bool:
    (job,) = (await cluster.read("/v1/jobs", api.JobsResponse)).entries
    return job.progress is not None and job.progress.step == step
