"""From targets to actions: what is planned can be carried out one action after the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.baselines.estimates import Estimates
from simulator.baselines.free_nodes import FreeNodes
from simulator.baselines.reconcile import Target, reconcile
from simulator.cluster.actions import Action
from simulator.cluster.decider import View
from simulator.comparison.deciders.gathering import Gathering
from simulator.traces.shapes import Measured
from tests.unit.simulator.comparison.small import job, machines, run

FROM_THREE = Measured((1.0, 2.0, 3.0), (1.0, 2.0, 9.0), locality=0.1)
"""Three workers on one node are worth a move."""


@dataclass
class Changed:
    """Runs the first two jobs; from the third on, it wants the targets, and the others may stay."""

    targets: dict[str, int]
    oracle: bool = True

    def decide(self, view: View) -> Sequence[Action]:
        jobs = {one.name: one for one in (*view.running, *view.waiting)}
        later = len(jobs) > 2
        wanted = self.targets if later else dict.fromkeys(jobs, 2)
        targets = [Target(jobs[name], workers) for name, workers in wanted.items() if name in jobs]
        fillers = [one for name, one in jobs.items() if name not in wanted]
        placer = Gathering(Estimates(error=0.0), view.machines)
        return reconcile(
            FreeNodes(view.snapshot.node_table), view.running, targets, fillers, placer
        )

    def wakes_at(self, now: float) -> None:
        del now


def test_a_job_leaves_whose_room_is_needed_until_another_has_moved_away() -> None:
    grows = job("grows", 0, 900, 2, speed=FROM_THREE, least_workers=2, most_workers=3)
    jobs = [job("leaves", 0, 500, 2), grows, job("comes", 1, 50, 2)]
    result = run(Changed({"comes": 2, "grows": 3}), jobs, machines(2, gpus=4))
    assert result["comes"].started_at == 1
    assert (result["grows"].migrations, result["leaves"].preemptions) == (2, 1)
