"""A TrainJob with its JobSet, its Job and pods that run, for engine tests."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from shared import foreign_labels
from shared.model import Entity, JobKey, OwnProgress
from tests.fakes.builders import make_owner, make_pod, make_shape

KEY = JobKey("default/jobset/llama")


def train_job(
    progress: OwnProgress | None,
    nodes: Sequence[str],
    *,
    since: float,
    cpu: str = "1",
    name: str = "llama",
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> list[Entity]:
    """A pod on each of the nodes; ``since``: when they were bound, seconds since the epoch."""
    version = "trainer.kubeflow.org/v1alpha1"
    top = make_owner(name, kind="TrainJob", api_version=version, annotations=annotations)
    top = replace(top, size=None, progress=progress)
    version = "jobset.x-k8s.io/v1alpha2"
    whole = make_owner(name, kind="JobSet", api_version=version, size=len(nodes), controller=top)
    job = make_owner(f"{name}-node-0", size=len(nodes), controller=whole)
    tags = {
        foreign_labels.JOBSET_NAME: name,
        foreign_labels.JOBSET_PART: "node",
        foreign_labels.JOBSET_JOB_INDEX: "0",
        **(labels or {}),
    }
    shape = make_shape(cpu=cpu, memory="0")
    pods = [
        make_pod(
            f"{name}-{i}", owner=job, index=i, node=node, labels=tags, scheduled_at=since,
            shape=shape,
        )
        for i, node in enumerate(nodes)
    ]  # fmt: skip
    return [top, whole, job, *pods]
