"""Kubeflow training-operator v1 and mpi-operator: PyTorchJob, TFJob, MPIJob, XGBoostJob, PaddleJob.

Source:
    github.com/kubeflow/trainer v1.9.4 ``pkg/apis/kubeflow.org/v1/common_types.go``;
    github.com/kubeflow/mpi-operator v0.6.0 ``pkg/controller/mpi_job_controller.go``: it states the
    role as job role, gives the launcher no index, and makes it by a ``batch/v1`` Job.
"""

from collections.abc import Sequence

from extender.core.kinds.base import Owners, last_index_first, rank, size_of_kind
from shared import foreign_labels, labels
from shared.model import Pod

_INDEX = f"label {labels.TRAINING_REPLICA_INDEX}"


class TrainingOperatorJob:
    """Told by the operator's labels; the size is what the custom resource asks for in all."""

    kind = "trainingjob"
    marks = frozenset({labels.TRAINING_JOB_NAME})
    any_worker = False

    def claims(self, pod: Pod) -> bool:
        """The operator's job-name label is there."""
        return bool(pod.labels.get(labels.TRAINING_JOB_NAME))

    def job_name(self, pod: Pod) -> str:
        """Kind of the custom resource and its name, because names are unique only per kind."""
        return f"{_resource(pod).lower()}.{pod.labels[labels.TRAINING_JOB_NAME]}"

    def index(self, pod: Pod, above: Owners) -> int | None:
        """Replica index inside the replica type."""
        return rank(_INDEX, pod.labels.get(labels.TRAINING_REPLICA_INDEX))

    def role(self, pod: Pod) -> str:
        """Replica type: ``ps``, ``worker``, ``chief``, ``master``, ``launcher``, ``evaluator``."""
        stated = pod.labels.get(labels.TRAINING_REPLICA_TYPE)
        return (stated or pod.labels.get(foreign_labels.TRAINING_JOB_ROLE, "")).lower()

    def size(self, pod: Pod, above: Owners) -> int | None:
        """What the custom resource says, once it was seen."""
        return size_of_kind(above, _resource(pod))

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        """The highest replica index goes first; sources: ``shared.kube.kubeflow_jobs``."""
        return last_index_first(workers, self.index)


def _resource(pod: Pod) -> str:
    owner = pod.controller
    if owner is None:
        return "unowned"
    if pod.labels.get(labels.TRAINING_OPERATOR_NAME) == foreign_labels.MPI_OPERATOR:
        return "MPIJob"
    return owner.kind
