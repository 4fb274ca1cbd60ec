"""Dorm: the cluster as full as possible, by a mixed-integer program at every event."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_array, csr_array, diags_array, eye_array, sparray

from extender.core.pricing.slots import FloatVector, SlotCluster
from simulator.baselines.drf import fluid_shares
from simulator.baselines.slot_order import fill
from simulator.models.slot_placement import (
    IntVector,
    Placement,
    SlotRoom,
    aggregate,
    dominant,
    server_shares,
    worker_shares,
)
from simulator.models.slot_world import SlotRun, SlotWorkload, Unfinished, play

FAIRNESS: Final = 0.1
"""θ_F of Dorm."""
ADJUSTMENT: Final = 0.1
"""θ_A of Dorm."""
GAP: Final = 0.01
"""A solution this near to the best possible is good enough."""
NODES: Final = 20
"""Most nodes of branch and bound: a limit that is the same on every machine, unlike seconds."""

_Block: TypeAlias = "sparray | None"
RESOURCES_OF_BOTH_KINDS: Final = 10
"""R: five of the worker servers, five of the others."""


@dataclass
class Effort:
    """Counts of the solver: programs, those without a solution, those stopped at the limit."""

    solved: int = 0
    without: int = 0
    stopped: int = 0


class Dorm:
    """Maximise utilisation within limits on unfairness (against DRF) and on changed jobs.

    From the papers: at each arrival and completion maximise Σ_r used/total, subject to
    Σ|share - DRF share| ≤ ⌈θ_F·2R⌉ and at most ⌈θ_A·running⌉ running jobs whose containers
    change. Assumed: θ_F = θ_A = 0.1, R = 10 (five resources of two kinds of servers; with R = 5
    most programs under load have no solution), all jobs are admitted, a running job keeps a
    worker; without a solution the running jobs stay as they are and the rest is filled in the
    order of arrival. The program knows only aggregate capacities, and so does the world it runs in
    here: no fragmentation, which favours Dorm over the others.

    Source:
        Sun, Wen, Ta, Yan, "Towards Distributed Machine Learning in Shared Clusters: A
        Dynamically-Partitioned Approach", SMARTCOMP 2017; as the paper uses it: Bao, Peng, Wu, Li,
        INFOCOM 2018, Sect. V.
    """

    def __init__(self, workload: SlotWorkload) -> None:
        self._workload = workload
        self._widths: dict[int, int] = {}
        self._running: Mapping[int, Placement] = {}
        self.effort = Effort()

    def allocate(
        self, _slot: int, unfinished: Sequence[Unfinished], *, changed: bool
    ) -> Mapping[int, Placement]:
        """Solve the program if a job arrived or completed."""
        if changed:
            old = [self._widths.get(state.index, 0) for state in unfinished]
            widths = self._solved(unfinished, np.array(old))
            self._running = (
                _kept_and_filled(unfinished, old, self._workload.cluster)
                if widths is None
                else _placements(unfinished, widths.tolist())
            )
            self._widths = {index: placement.width for index, placement in self._running.items()}
        return self._running

    def _solved(self, unfinished: Sequence[Unfinished], old: IntVector) -> IntVector | None:
        program = _Program(unfinished, old, self._workload.cluster)
        result = milp(
            program.cost,
            integrality=program.integrality,
            bounds=program.bounds,
            constraints=program.constraints(),
            options={"mip_rel_gap": GAP, "node_limit": NODES},
        )
        self.effort.solved += 1
        self.effort.without += result.x is None
        self.effort.stopped += result.status == 1
        if result.x is None:
            return None
        widths: IntVector = np.rint(result.x[: len(unfinished)]).astype(np.int64)
        return widths


def run(workload: SlotWorkload) -> tuple[SlotRun, Effort]:
    """Run Dorm in the world it assumes: the same jobs, the servers of each kind as one."""
    whole = replace(workload, cluster=aggregate(workload.cluster))
    policy = Dorm(whole)
    return play(whole, policy), policy.effort


class _Program:
    """Variables, one of each for a job: workers n, servers z, unfairness d, changed c.

    z is tied to ⌈n·b/B⌉ by n·b/B ≤ z < n·b/B + 1.
    """

    def __init__(
        self, unfinished: Sequence[Unfinished], old: IntVector, cluster: SlotCluster
    ) -> None:
        jobs = [state.job for state in unfinished]
        self._jobs, self._old, self._cluster = jobs, old, cluster
        self._workers = np.array([worker_shares(job, cluster) for job in jobs])
        self._servers = np.array([server_shares(job, cluster) for job in jobs])
        self._chunks = np.array([job.chunks for job in jobs], dtype=np.float64)
        count = len(jobs)
        nothing = np.zeros(count)
        ratio = np.array([job.worker_bandwidth / job.server_bandwidth for job in jobs])
        self._ratio = ratio
        running = (old > 0).astype(np.float64)
        self.cost = np.concatenate(
            [-self._workers.sum(axis=1) - ratio * self._servers.sum(axis=1), *(nothing,) * 3]
        )
        self.integrality = np.repeat([1, 1, 0, 1], count)
        self.bounds = Bounds(
            np.concatenate([running, nothing, nothing, nothing]),
            np.concatenate([self._chunks, self._chunks, np.full(count, np.inf), running]),
        )

    def constraints(self) -> LinearConstraint:
        """Return capacity, bandwidth, unfairness and adjustment as rows ≤ upper."""
        unit = eye_array(len(self._jobs), format="csr")
        ratio = diags_array(self._ratio)
        share = diags_array([dominant(job, self._cluster) for job in self._jobs])
        fair = fluid_shares(self._jobs, self._cluster)
        rows = np.flatnonzero(self._old)
        changed, old = -diags_array(self._chunks).tocsr()[rows], self._old[rows]
        every = csr_array(np.ones((1, len(self._jobs))))
        unfair = math.ceil(FAIRNESS * 2 * RESOURCES_OF_BOTH_KINDS)
        blocks: list[tuple[_Block, _Block, _Block, _Block, FloatVector]] = [
            (csr_array(self._workers.T), None, None, None, np.ones(self._workers.shape[1])),
            (None, csr_array(self._servers.T), None, None, np.ones(self._servers.shape[1])),
            (ratio, -unit, None, None, np.zeros(len(self._jobs))),
            (share, None, -unit, None, fair),
            (-share, None, -unit, None, -fair),
            (None, None, every, None, np.array([float(unfair)])),
            (None, None, None, every, np.array([float(math.ceil(ADJUSTMENT * len(rows)))])),
            (unit[rows], None, None, changed, old.astype(np.float64)),
            (-unit[rows], None, None, changed, -old.astype(np.float64)),
        ]
        used = blocks if len(rows) else blocks[:-2]
        matrix = block_array([block[:4] for block in used], format="csr")
        return LinearConstraint(matrix, -np.inf, np.concatenate([block[4] for block in used]))


def _placements(unfinished: Sequence[Unfinished], widths: Iterable[int]) -> Mapping[int, Placement]:
    """Return the widths as placements on the one server of each kind."""
    return {
        state.index: Placement(np.array([width]), np.array([state.job.servers_for(width)]))
        for state, width in zip(unfinished, widths, strict=True)
        if width
    }


def _kept_and_filled(
    unfinished: Sequence[Unfinished], old: Sequence[int], cluster: SlotCluster
) -> Mapping[int, Placement]:
    """Return the running jobs as they were, and the others as wide as fits, by arrival."""
    room = SlotRoom(cluster)
    kept = _placements(unfinished, old)
    for state in unfinished:
        if state.index in kept:
            room.take(state.job, kept[state.index])
    return {**kept, **fill(room, [state for state in unfinished if state.index not in kept])}
