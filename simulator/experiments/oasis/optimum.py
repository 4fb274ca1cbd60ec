"""The offline optimum (1)-(13) of a small workload, by a mixed-integer program."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from extender.core.pricing.slots import FloatVector
from simulator.models.slot_world import SlotWorkload

GAP: Final = 0.005
"""Relative gap to the optimum at which the solver may stop."""
NODES: Final = 300
"""Limit of branch-and-bound nodes: unlike seconds, the same on every machine."""


@dataclass(frozen=True)
class Optimum:
    """Result of the solver.

    Attributes:
        utility: Of the best schedules found; 0 if it found none.
        bound: Upper bound on the utility of any schedules.
        proven: Whether the two are within the gap.
    """

    utility: float
    bound: float
    proven: bool


def optimum(workload: SlotWorkload, gap: float = GAP, nodes: int = NODES) -> Optimum:
    """Return the greatest utility of schedules that know all jobs in advance.

    Work is counted in worker-slots, as in (2).

    Source:
        Bao, Peng, Wu, Li, INFOCOM 2018, (1)-(13), with one variable for each end slot of a job.
    """
    program = _Program(workload)
    result = milp(
        program.cost,
        integrality=np.ones(len(program.cost)),
        bounds=Bounds(0.0, program.most),
        constraints=program.constraints(),
        options={"mip_rel_gap": gap, "node_limit": nodes},
    )
    bound = -float(result.mip_dual_bound) if result.mip_dual_bound is not None else np.inf
    utility = max(0.0, -float(result.fun)) if result.fun is not None else 0.0
    return Optimum(utility, max(bound, utility), result.status == 0)


class _Program:
    """Variables: end e of job i (x), workers y on h in t, servers z on k in t; 0 before arrival."""

    def __init__(self, workload: SlotWorkload) -> None:
        self._workload = workload
        cluster = workload.cluster
        jobs, slots = len(workload.jobs), cluster.horizon
        workers, servers = len(cluster.worker_capacity), len(cluster.server_capacity)
        ends = np.arange(jobs * slots).reshape(jobs, slots)
        y = ends.size + np.arange(jobs * slots * workers).reshape(jobs, slots, workers)
        z = ends.size + y.size + np.arange(jobs * slots * servers).reshape(jobs, slots, servers)
        self._ends, self._y, self._z = ends, y, z
        self.cost = np.zeros(ends.size + y.size + z.size)
        self.most: FloatVector = np.zeros(len(self.cost))
        for i, job in enumerate(workload.jobs):
            for e in range(job.arrival - 1, slots):
                self.cost[ends[i, e]] = -job.utility.of(e + 1 - job.arrival)
                self.most[ends[i, e]] = 1.0
                self.most[y[i, e]] = self.most[z[i, e]] = job.chunks
        self._rows: list[tuple[list[int], list[float]]] = []
        self._upper: list[float] = []

    def constraints(self) -> LinearConstraint:
        """Return all constraints as rows ≤ upper."""
        for i in range(len(self._workload.jobs)):
            self._of_job(i)
        cluster = self._workload.cluster
        self._capacity(self._y, cluster.worker_capacity, [j.worker for j in self._workload.jobs])
        self._capacity(self._z, cluster.server_capacity, [j.server for j in self._workload.jobs])
        lengths = [len(columns) for columns, _ in self._rows]
        rows = np.repeat(np.arange(len(lengths)), lengths)
        columns = np.concatenate([columns for columns, _ in self._rows])
        values = np.concatenate([values for _, values in self._rows])
        shape = (len(lengths), len(self.cost))
        matrix = coo_array((values, (rows, columns)), shape=shape).tocsr()
        return LinearConstraint(matrix, -np.inf, np.array(self._upper))

    def _add(self, parts: list[tuple[list[int], float]], upper: float) -> None:
        columns = [column for group, _ in parts for column in group]
        values = [value for group, value in parts for _ in group]
        self._rows.append((columns, values))
        self._upper.append(upper)

    def _of_job(self, i: int) -> None:
        """Add the constraints of a job: end (11), work (2), workers (3) (8), servers (6) (7)."""
        job = self._workload.jobs[i]
        ends = self._ends[i].tolist()
        self._add([(ends, 1.0)], 1.0)
        self._add([(self._y[i].ravel().tolist(), -1.0), (ends, float(job.work))], 0.0)
        for t in range(job.arrival - 1, self._workload.cluster.horizon):
            y, z = self._y[i, t].tolist(), self._z[i, t].tolist()
            self._add([(y, 1.0), (ends[t:], -float(job.chunks))], 0.0)
            self._add([(y, job.servers_a_worker), (z, -1.0)], 0.0)
            self._add([(z, 1.0), (y, -1.0)], 0.0)

    def _capacity(
        self,
        columns: np.ndarray[tuple[int, int, int], np.dtype[np.int64]],
        capacity: np.ndarray[tuple[int, int], np.dtype[np.float64]],
        demands: list[tuple[float, ...]],
    ) -> None:
        """Add (4) or (5): capacity of each machine in each slot."""
        for t in range(columns.shape[1]):
            for (machine, resource), most in np.ndenumerate(capacity):
                parts = [
                    ([int(columns[i, t, machine])], demand[resource])
                    for i, demand in enumerate(demands)
                    if demand[resource] > 0 and self.most[columns[i, t, machine]] > 0
                ]
                if parts:
                    self._add(parts, float(most))
