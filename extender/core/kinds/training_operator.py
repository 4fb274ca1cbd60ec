"""Kubeflow training-operator v1 and mpi-operator: PyTorchJob, TFJob, MPIJob, XGBoostJob, PaddleJob.

Source:
    github.com/kubeflow/trainer v1.9.4 ``pkg/apis/kubeflow.org/v1/common_types.go``;
    github.com/kubeflow/mpi-operator v0.6.0 ``pkg/controller/mpi_job_controller.go``: it states the
    role as job role, gives the launcher no index, and makes it by a ``batch/v1`` Job.
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from msgspec import Raw
from typing_extensions import override

from extender.core.kinds.base import JobKind, Owners, last_index_first, rank, size_of_kind
from extender.core.kinds.manifest import Created, Manifest, Part, Replicas, decode, reference
from extender.core.kinds.parking_facts import NOT_COUNTED, RESTARTS, ParkingFacts
from shared import foreign_labels, labels
from shared.errors import InputError
from shared.model import Pod

_INDEX: Final = f"label {labels.TRAINING_REPLICA_INDEX}"
_REPLICAS: Final = "ReplicaSpecs"
_RERUN: Final = "deleted too, and would run again: not parked (`RunsAgain`)"
_RESOURCES: Final = ("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob")


class TrainingOperatorJob(JobKind):
    """Recognized by the labels of the operator; the size is that of the custom resource in all."""

    kind = "trainingjob"
    marks = frozenset({labels.TRAINING_JOB_NAME})
    any_worker = False
    manifests: ClassVar = tuple((kind, "kubeflow.org") for kind in _RESOURCES)
    parking = tuple(
        ParkingFacts(
            kind=kind,
            group="kubeflow.org",
            field="spec.runPolicy.suspend",
            others="Kueue",
            clock=f"`activeDeadlineSeconds` {RESTARTS}",
            failures=f"{NOT_COUNTED}; restarts of the old pods are forgotten",
            ended=_RERUN,
            returns="the launcher's Job goes on, the workers are made anew"
            if kind == "MPIJob"
            else "all pods are made anew",
            reruns=True,
        )
        for kind in _RESOURCES
    )

    @override
    def claims(self, pod: Pod) -> bool:
        """Return True if the job-name label of the operator is there."""
        return bool(pod.labels.get(labels.TRAINING_JOB_NAME))

    @override
    def job_name(self, pod: Pod) -> str:
        """Return kind and name of the custom resource, because names are unique only per kind."""
        return f"{_resource(pod).lower()}.{pod.labels[labels.TRAINING_JOB_NAME]}"

    @override
    def index(self, pod: Pod, above: Owners) -> int | None:
        """Return the replica index inside the replica type."""
        return rank(_INDEX, pod.labels.get(labels.TRAINING_REPLICA_INDEX))

    def role(self, pod: Pod) -> str:
        """Return the replica type: ``ps``, ``worker``, ``chief``, ``launcher``, ``evaluator``."""
        stated = pod.labels.get(labels.TRAINING_REPLICA_TYPE)
        return (stated or pod.labels.get(foreign_labels.TRAINING_JOB_ROLE, "")).lower()

    def size(self, pod: Pod, above: Owners) -> int | None:
        """Return the size that the custom resource states, once it was observed."""
        return size_of_kind(above, _resource(pod))

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        """Return the workers, the highest replica index first (``shared.kube.kubeflow_jobs``)."""
        return last_index_first(workers, self.index)

    def suppose(self, manifest: Manifest) -> Created:
        """Return the pods of each role, which has one template, with the labels of the operator."""
        owner, spec = manifest.owner(), manifest.spec_as(dict[str, Raw])
        maps = [key for key in spec if key.endswith(_REPLICAS)]
        if not maps:
            raise InputError(f"{manifest.title}: spec", "", f"with a field *{_REPLICAS}")
        at = f"$.spec.{maps[0]}"
        roles = decode(dict[str, Replicas], spec[maps[0]], manifest.title, at)
        parts = [
            Part(
                name=f"{manifest.name}-{role.lower()}",
                count=replicas.replicas,
                template=replicas.template,
                controller=reference(owner),
                labels={
                    labels.TRAINING_JOB_NAME: manifest.name,
                    labels.TRAINING_REPLICA_TYPE: role.lower(),
                },
                index=labels.TRAINING_REPLICA_INDEX,
            )
            for role, replicas in roles.items()
        ]
        return manifest.created(parts, [owner])


def _resource(pod: Pod) -> str:
    owner = pod.controller
    if owner is None:
        return "unowned"
    if pod.labels.get(labels.TRAINING_OPERATOR_NAME) == foreign_labels.MPI_OPERATOR:
        return "MPIJob"
    return owner.kind
