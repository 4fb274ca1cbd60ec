"""Kubeflow training-operator v1 and mpi-operator: PyTorchJob, TFJob, MPIJob, XGBoostJob, PaddleJob.

Source:
    github.com/kubeflow/trainer v1.9.4 ``pkg/apis/kubeflow.org/v1/common_types.go``.
"""

from extender.adapters.base import integer
from shared import labels
from shared.model import Pod


class TrainingOperatorJob:
    """Told by the operator's labels; the size comes from the annotation, the pods do not say it."""

    kind = "trainingjob"

    def claims(self, pod: Pod) -> bool:
        """The operator's job-name label is there."""
        return bool(pod.labels.get(labels.TRAINING_JOB_NAME))

    def job_name(self, pod: Pod) -> str:
        """Kind of the custom resource and its name, because names are unique only per kind."""
        kind = pod.controller.kind.lower() if pod.controller else "unowned"
        return f"{kind}.{pod.labels[labels.TRAINING_JOB_NAME]}"

    def index(self, pod: Pod) -> int | None:
        """Replica index inside the replica type."""
        return integer(pod.labels.get(labels.TRAINING_REPLICA_INDEX))

    def role(self, pod: Pod) -> str:
        """Replica type: ``ps``, ``worker``, ``chief``, ``master``, ``launcher``, ``evaluator``."""
        return pod.labels.get(labels.TRAINING_REPLICA_TYPE, "").lower()
