"""A gang of two workers on four nodes that have room for one each."""

from dataclasses import replace
from typing import Final

from bench.elastic.scenario import ElasticJob
from devcluster.options import ProcessNodes
from tests.controlplane.training.elastic_job import elastic
from tests.controlplane.training_yard import TrainingYard
from tests.controlplane.watching import node_of

FOUR_NODES: Final = ProcessNodes(4, cpu="200m", memory="1Gi", prefix="node")
"""Each has an agent and room for one worker."""
SIZE: Final = 2


def gang() -> ElasticJob:
    job = elastic()
    return replace(job, simulated=replace(job.simulated, wanted=SIZE))


def nodes_of(yard: TrainingYard, job: str) -> set[str | None]:
    """Return the nodes of the job's living pods; None of one that has none yet."""
    return {node_of(pod) for pod in yard.history.of(f"{yard.team}/{job}")}
