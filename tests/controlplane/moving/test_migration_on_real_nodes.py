"""A converged training job moves between real nodes: kubelets, containers, a claimed volume."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bench.specon.files import overlaps
from bench.specon.jobs import Manifest
from devcluster.cluster import Cluster
from devcluster.options import ClusterOptions, RealNodes, Schedulers
from devcluster.real_nodes import images
from devcluster.real_nodes.machines import Machines
from devcluster.shuntyard.agents import NAMESPACE as AGENTS
from shared import labels
from shared.kube import paths
from shared.readapi import api
from shared.readapi.ledgers import MigrationEntry
from tests.controlplane.devcluster import real_yard
from tests.controlplane.devcluster.real_yard import FIRST, SECOND, RealYard, real_cluster
from tests.controlplane.moving.test_migration_faults import (
    begun_below_what_was_saved,
    saves_noted,
    until_all_migrations_ended,
)
from tests.controlplane.real_training_yard import (
    AGENT_SETTINGS,
    LIMIT_CORES,
    SETTINGS,
    RealTrainingYard,
    container_of,
    lent,
)
from tests.controlplane.training_yard import (
    PATIENCE_SECONDS,
    converging,
    neighbour,
    phase_of,
    two_at_once,
)
from tests.controlplane.watching import Object, job_of
from tests.fakes.eventually import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.e2e]

GRACE_SECONDS = 16
"""A node without a heartbeat for this long is NotReady."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    options = ClusterOptions(
        real=RealNodes(2),
        schedulers=Schedulers.BOTH,
        settings=SETTINGS,
        node_monitor_grace_seconds=GRACE_SECONDS,
    )
    with real_cluster(tmp_path_factory, options) as cluster:
        cluster.machines.start_agents(AGENT_SETTINGS)
        yield cluster


@pytest.fixture
async def yard(cluster: Cluster) -> AsyncIterator[RealTrainingYard]:
    async with lent(cluster) as yard:
        yield yard


@pytest.fixture
async def nodes(cluster: Cluster) -> AsyncIterator[RealYard]:
    async with real_yard.opened(cluster) as nodes:
        yield nodes


async def test_a_converged_job_continues_in_a_container_on_the_other_node(
    yard: RealTrainingYard,
) -> None:
    training = converging("it", steps=300, save_seconds=0.5)
    await yard.begin_on(FIRST, training, yard.job(training))
    ended = await yard.until_phase("Completed")
    await yard.until_done("it")
    before, after = yard.files("it").lives()
    (ack,) = yard.files("it").acks()
    steps = yard.files("it").steps()
    assert (before.node, after.node) == (FIRST, SECOND)
    assert overlaps((before, after)) == ()
    assert two_at_once(yard.history, _is_it(yard)) == []
    assert ack.uid == before.uid
    assert [step.step for step in steps] == list(range(1, 301))
    assert [step.pod for step in steps] == [before.pod] * ack.step + [after.pod] * (300 - ack.step)
    assert yard.jobs.first(lambda job: job["spec"].get("suspend")) > ack.written_at
    (member,) = ended["status"]["members"]
    assert (member["ackedStep"], member["resumedStep"]) == (ack.step, ack.step)
    (entry,) = await yard.ledger()
    assert (entry.trigger, entry.mover, entry.lost_steps) == ("converged", "suspend", 0)
    await yard.until_nothing_is_kept()
    paused = max(b.at - a.at for a, b in itertools.pairwise(steps))
    _tell(entry, f"{paused:.2f} s without a step")


@dataclass(frozen=True)
class Fault:
    """A fault of a node when a migration is in a phase, and its repair."""

    phase: str
    node: str
    strike: Callable[[Machines, str], None]
    mend: Callable[[Machines, str], None]


FAULTS: dict[str, Fault] = {
    "its node loses power while a checkpoint is asked for": Fault(
        "CheckpointRequested", FIRST, Machines.power_off, Machines.power_on
    ),
    "the other node loses power while it resumes there": Fault(
        "Resuming", SECOND, Machines.power_off, Machines.power_on
    ),
    "its node is cut off when the checkpoint is there": Fault(
        "Checkpointed", FIRST, Machines.partition, Machines.heal
    ),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_a_job_ends_with_its_saved_work_kept(
    yard: RealTrainingYard, nodes: RealYard, fault: Fault
) -> None:
    training = converging("it", steps=300, save_seconds=0.3, save_every_seconds=2.0)
    files = yard.files("it")
    async with saves_noted(files) as saves:
        async with _struck(yard, fault) as struck:
            await yard.begin_on(FIRST, training, yard.job(training))
            await eventually(struck.is_set, PATIENCE_SECONDS, f"{fault.phase}; {yard.phases()}")
        await nodes.until_node(fault.node, ready=False)
        await asyncio.to_thread(fault.mend, yard.cluster.machines, fault.node)
        await yard.until_done("it")
    await until_all_migrations_ended(yard)
    await yard.until_nothing_is_kept()
    for entry in await yard.ledger():
        _tell(entry)
    assert len(files.lives()) > 1
    assert overlaps(files.lives()) == ()
    assert two_at_once(yard.history, _is_it(yard)) == []
    assert begun_below_what_was_saved(files, saves) == []


async def test_a_job_that_only_prints_shows_its_progress(yard: RealTrainingYard) -> None:
    script = "n=0; while sleep 0.2; do n=$((n+1)); echo step=$n loss=0.$((1000-n)); done"
    await yard.submit(_printing("prints", script))

    async def shown() -> bool:
        found = msgspec.json.decode(await yard.read("/v1/jobs"), type=api.JobsResponse)
        entry = next((one for one in found.entries if one.namespace == yard.team), None)
        assert entry is not None
        assert entry.progress is not None, entry
        assert entry.progress.step is not None
        assert entry.progress.step > 10
        assert entry.progress.value == float(f"0.{1000 - entry.progress.step}")
        return True

    await eventually(shown, PATIENCE_SECONDS, "progress is shown")


async def test_an_agent_in_a_container_measures_the_cpu_of_another(
    yard: RealTrainingYard, nodes: RealYard
) -> None:
    busy = yard.neighbour(SECOND)
    await yard.submit(busy)
    agent = await _agent_on(yard, SECOND)

    async def measured() -> bool:
        code, text = await nodes.execute(agent, "python3", "-c", ASK, namespace=AGENTS)
        assert code == 0, text
        found = _cores(text, busy["metadata"]["name"])
        assert 0.75 * LIMIT_CORES < found < 1.1 * LIMIT_CORES
        return True

    await eventually(measured, PATIENCE_SECONDS, f"{LIMIT_CORES} cores are measured")


ASK = """
import urllib.request
print(urllib.request.urlopen("http://127.0.0.1:10264/metrics").read().decode())
"""


def _cores(text: str, job: str) -> float:
    """Return the CPU of a job by an agent's metrics."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "shuntyard_agent_job_cpu_cores" and sample.labels["job_name"] == job:
                return sample.value
    raise AssertionError(f"no sample of {job}")


async def _agent_on(yard: RealTrainingYard, node: str) -> str:
    pods = await yard.items(paths.pods(AGENTS))
    return next(str(p["metadata"]["name"]) for p in pods if p["spec"].get("nodeName") == node)


def _printing(name: str, script: str) -> Manifest:
    """Return a Job without files, whose log shows its steps."""
    made = neighbour(FIRST)
    container_of(made["spec"], images.BUSYBOX)
    made["spec"]["containers"][0]["command"] = ["/bin/sh", "-c", script]
    made["spec"]["restartPolicy"] = "Never"
    regex = r"step=(?P<step>\d+) loss=(?P<value>\S+)"
    annotations = {labels.METRICS: f"path=log; metric=loss; regex={regex}"}
    template = {"metadata": {"annotations": annotations}, "spec": made["spec"]}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}}
    return {**body, "spec": {"template": template}}


@asynccontextmanager
async def _struck(yard: RealTrainingYard, fault: Fault) -> AsyncIterator[asyncio.Event]:
    """Strike as soon as a watch shows the migration in the phase; yield when that is done."""
    seen, done = asyncio.Event(), asyncio.Event()

    def take(migration: Object) -> None:
        if phase_of(migration) == fault.phase:
            seen.set()

    async def strike() -> None:
        await seen.wait()
        await asyncio.to_thread(fault.strike, yard.cluster.machines, fault.node)
        done.set()

    yard.migrations.listeners.append(take)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(strike())
        yield done
        task.cancel()


def _is_it(yard: RealTrainingYard) -> Any:
    return lambda pod: job_of(pod) == yard.key("it")


def _tell(entry: MigrationEntry, *more: str) -> None:
    phases = (f"{t.phase} {t.seconds:.2f} s" for t in entry.transitions if t.seconds is not None)
    print(  # noqa: T201 - because the figures belong into the record of every run
        entry.phase, entry.reason, entry.message, entry.members, *phases, *more, sep="; "
    )
