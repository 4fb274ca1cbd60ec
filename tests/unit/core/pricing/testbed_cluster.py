"""The OASiS testbed as the simulator draws it, and the same as nodes and Jobs of a cluster."""

from collections.abc import Sequence
from dataclasses import replace

from extender.core.cluster.utility import Sigmoid
from extender.core.parameters.pricing import AdmissionParameters, BoundsParameters, PriceBoundRule
from extender.core.pricing import candidates
from extender.core.pricing.history import History, PastJob
from extender.core.pricing.training_job import TrainingJob
from shared import labels
from shared.model import Node, Owner, Pod, PodShape
from simulator import seeds
from simulator.experiments.oasis import contest, testbed
from simulator.experiments.oasis.planned import Planned
from simulator.models.slot_world import SlotWorkload, play
from tests.fakes.builders import make_node, make_shape
from tests.unit.core.clusters import snapshot_of
from tests.unit.core.pricing.priced_cluster import SLOT, START, PricedCluster, params, priced_job

_GB = 10**9
SERVERS = "example.com/ps"
"""Label of nodes for parameter servers."""
_GPU, _DISK, _BITS = "nvidia.com/gpu", "ephemeral-storage", "example.com/bits"
_JOBS_STREAM = 3
Slots = dict[str, dict[int, int]]
"""Admitted job → slot → workers."""


def workload(seed: int, *, servers: int) -> SlotWorkload:
    """Return twelve jobs with a fixed number of parameter servers.

    On a cluster their number does not follow the workers' from slot to slot.
    """
    drawn = testbed.draw(seeds.generator(seed, _JOBS_STREAM))
    jobs = tuple(
        replace(
            job,
            worker=_in_bits(job.worker),
            server=_in_bits(job.server) if servers else (0.0,) * 5,
            fixed_servers=servers,
        )
        for job in drawn.jobs
    )
    return SlotWorkload(jobs, drawn.widths, drawn.cluster)


def simulated(jobs: SlotWorkload) -> Slots:
    """Return the admitted jobs of the simulator."""
    policy = Planned(jobs, contest.kappa(jobs), AdmissionParameters())
    play(jobs, policy)
    admitted = policy.state.admitted.values()
    return {job.name: schedule.workers.by_slot() for job, schedule in admitted}


def live(jobs: SlotWorkload) -> Slots:
    """Return the plans of a simulated cluster after all slots."""
    horizon = jobs.cluster.horizon
    bounds = BoundsParameters(rule=PriceBoundRule.KAPPA, kappa=contest.KAPPA)
    cluster = PricedCluster(nodes(jobs), params())
    cluster.history = history(jobs)
    for slot in range(1, horizon + 1):
        left = horizon - slot + 1  # the paper's T is a fixed slot, our horizon is relative
        cluster.params = params(horizon=left, server_label=SERVERS, price_bounds=bounds)
        cluster.now = START + (slot - 1) * SLOT
        cluster.add(*(_entities(job) for job in jobs.jobs if job.arrival == slot))
        cluster.follow_plans()
        cluster.run_pass()
        cluster.follow_plans()
    return {name: cluster.counts(name) for name in cluster.plans()}


def history(jobs: SlotWorkload, slot_seconds: float = SLOT) -> History:
    """Return the history of all jobs: the simulator too knows them in advance for U."""
    every = snapshot_of(*(_entities(job, slot_seconds) for job in jobs.jobs))
    waiting = candidates.find_candidates(every, (), History(), params().slot_time)
    assert not waiting.problems
    return History(tuple(PastJob(c.owner.uid, c.request) for c in waiting.offered))


def annotations(job: TrainingJob, slot_seconds: float = SLOT) -> dict[str, str]:
    """Return the annotations of the job's owner without a checkpoint."""
    assert isinstance(job.utility, Sigmoid)
    utility = job.utility
    # completing in the slot of arrival takes one slot of time, and none in the paper
    begin = f"sigmoid:{utility.priority:.17g},{utility.decay * 3600 / slot_seconds:.17f}"
    return {
        labels.UTILITY: f"{begin},{(utility.target + 1) * slot_seconds:.17g}s",
        labels.TRAINING: f"epochs={job.epochs},chunks={job.chunks},batches={job.batches},"
        f"step={job.batch_slots * slot_seconds:.17f}s",
        labels.WORKERS: f"1..{job.chunks}",
    }


def _entities(job: TrainingJob, slot_seconds: float = SLOT) -> list[Owner | Pod]:
    notes = annotations(job, slot_seconds)
    return priced_job(
        job.name,
        1,
        work=1,
        most=job.chunks,
        utility=notes[labels.UTILITY],
        text=notes[labels.TRAINING],
        created_at=START + (job.arrival - 1) * SLOT,
        shape=worker_shape(job),
        ps=job.fixed_servers or 0,
        ps_pod={"shape": _shape(job.server)},
    )


def worker_shape(job: TrainingJob) -> PodShape:
    """Return the requests of a worker."""
    return _shape(job.worker)


def nodes(jobs: SlotWorkload) -> list[Node]:
    machines = jobs.cluster
    workers = [_node(f"w{i}", row, {}) for i, row in enumerate(machines.worker_capacity.tolist())]
    servers = machines.server_capacity.tolist()
    return workers + [_node(f"s{i}", row, {SERVERS: "yes"}) for i, row in enumerate(servers)]


def _node(name: str, row: Sequence[float], labels: dict[str, str]) -> Node:
    gpus, cores, memory, disk, gbits = row
    has = {_GPU: f"{gpus:.0f}", _DISK: f"{disk * _GB:.0f}", _BITS: f"{gbits * _GB:.0f}"}
    return make_node(
        name, cpu=f"{cores:.0f}", memory=f"{memory * _GB:.0f}", allocatable=has, labels=labels
    )


def _shape(row: Sequence[float]) -> PodShape:
    gpus, cores, memory, disk, gbits = row
    asks = {_GPU: f"{gpus:.0f}", _DISK: f"{disk * _GB:.0f}", _BITS: f"{gbits * _GB:.0f}"}
    return make_shape(cpu=f"{cores:.0f}", memory=f"{memory * _GB:.0f}", requests=asks)


def _in_bits(row: tuple[float, ...]) -> tuple[float, ...]:
    """Return the demand with whole bits per second, as pods request it."""
    return (*row[:4], round(row[4] * _GB) / _GB)
