"""Job kinds of other projects: their API groups, and raw JSON to ``shared.objects.owners.Owner``.

A further kind is one line in ``OWNERS``, with a module of its own if it says how many pods it
wants, which templates it has or what of it may change; deploy/base/rbac-kinds.yaml must let us read
it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from shared import foreign_labels, labels
from shared.kube import (
    job_sets,
    kubeflow_jobs,
    leader_worker_sets,
    pod_templates,
    ray_clusters,
    train_jobs,
    volcano_jobs,
    wire,
)
from shared.kube.changes import NO_CHANGES, Changes, with_changes
from shared.kube.parse import Data, names_the_object, owner
from shared.kube.pod_templates import Templates
from shared.model import Owner, OwnProgress
from shared.objects import label_selectors

S = TypeVar("S")


class Object(Struct, Generic[S]):
    """A custom resource, as far as it is read here."""

    metadata: wire.Meta
    spec: S | None = None
    api_version: str = msgspec.field(default="", name="apiVersion")


class Unread(Struct):
    """A part that is not read."""


class WithMeta(Protocol):
    """Common part of every object."""

    metadata: wire.Meta

    @property
    def api_version(self) -> str:
        """``apiVersion``; empty if the server omits it in a list."""
        ...


Whole = TypeVar("Whole", bound=WithMeta)


@dataclass(frozen=True)
class OwnerKind:
    """A kind whose objects own pods, directly or indirectly.

    Attributes:
        kind: Its name.
        group: Its API group.
        versions: Readable versions; the first that the server has is read.
        decode: Raw JSON to the owner.
    """

    kind: str
    group: str
    versions: tuple[str, ...]
    decode: Callable[[Data], Owner]

    @property
    def plural(self) -> str:
        """Its name in paths."""
        return f"{self.kind.lower()}s"


def _kind(
    *,
    kind: str,
    group: str,
    versions: tuple[str, ...],
    whole: type[Whole],
    size: Callable[[Whole], int | None],
    changes: Callable[[Whole], Changes],
    templates: Callable[[Whole], Templates],
    named_by: str,
    progress: Callable[[Whole], OwnProgress | None] = lambda _: None,
) -> OwnerKind:
    """Return a kind that is read as ``whole``.

    ``named_by`` is the label by which every pod names its owner; empty: none does.
    """
    decoder = msgspec.json.Decoder(whole)
    first = f"{group}/{versions[0]}"

    @names_the_object
    def decode(data: Data) -> Owner:
        raw = decoder.decode(data)
        name = raw.metadata.name
        read = replace(
            owner(raw.metadata, raw.api_version or first, kind, size(raw)),
            template=pod_templates.stated(templates(raw)),
            selector=label_selectors.select_label(named_by, name) if named_by else None,
        )
        read, own_progress = with_changes(read, raw.metadata, changes(raw)), progress(raw)
        return read if own_progress is None else replace(read, progress=own_progress)

    return OwnerKind(kind, group, versions, decode)


def _specified(
    *,
    kind: str,
    group: str,
    versions: tuple[str, ...],
    spec: type[S],
    size: Callable[[S], int | None],
    templates: Callable[[S], Templates],
    named_by: str,
    changes: Callable[[S], Changes] = lambda _: NO_CHANGES,
) -> OwnerKind:
    """Return a kind of which the ``spec`` says all."""

    def sized(custom: Object[S]) -> int | None:
        return None if custom.spec is None else size(custom.spec)

    def changed(custom: Object[S]) -> Changes:
        return NO_CHANGES if custom.spec is None else changes(custom.spec)

    def stamped(custom: Object[S]) -> Templates:
        return () if custom.spec is None else templates(custom.spec)

    whole = Object[spec]  # type: ignore[valid-type]
    return _kind(
        kind=kind,
        group=group,
        versions=versions,
        whole=whole,
        size=sized,
        changes=changed,
        templates=stamped,
        named_by=named_by,
    )


def _unsized(
    kind: str, group: str, version: str, changes: Callable[[ray_clusters.RayJobSpec], Changes]
) -> OwnerKind:
    """Return a kind of Ray that owns a RayCluster, which says the size.

    The RayCluster has a name of its own, so no label of the pods names the kind.
    """
    return _specified(
        kind=kind,
        group=group,
        versions=(version,),
        spec=ray_clusters.RayJobSpec,
        size=lambda _: None,
        templates=ray_clusters.job_templates,
        named_by="",
        changes=changes,
    )


def _kubeflow(
    kind: str,
    *versions: str,
    changes: Callable[[kubeflow_jobs.KubeflowSpec], Changes] = kubeflow_jobs.changes,
) -> OwnerKind:
    return _specified(
        kind=kind,
        group="kubeflow.org",
        versions=versions,
        spec=kubeflow_jobs.KubeflowSpec,
        size=kubeflow_jobs.size,
        templates=kubeflow_jobs.templates,
        named_by=labels.TRAINING_JOB_NAME,
        changes=changes,
    )


OWNERS: Final = (
    _kind(
        kind="JobSet",
        group="jobset.x-k8s.io",
        versions=("v1alpha2",),
        whole=job_sets.JobSet,
        size=job_sets.size,
        changes=job_sets.changes,
        templates=job_sets.templates,
        named_by=foreign_labels.JOBSET_NAME,
    ),
    _kind(
        kind="TrainJob",
        group="trainer.kubeflow.org",
        versions=("v1alpha1",),
        whole=train_jobs.TrainJob,
        size=lambda _: None,
        changes=train_jobs.changes,
        templates=train_jobs.templates,
        named_by=foreign_labels.JOBSET_NAME,  # its JobSet has its name
        progress=train_jobs.progress,
    ),
    _kubeflow("PyTorchJob", "v1", changes=kubeflow_jobs.pytorch_changes),
    _kubeflow("TFJob", "v1", changes=kubeflow_jobs.tf_changes),
    _kubeflow("MPIJob", "v2beta1", "v1", changes=kubeflow_jobs.mpi_changes),
    _kubeflow("XGBoostJob", "v1"),
    _kubeflow("PaddleJob", "v1"),
    _kubeflow("JAXJob", "v1"),
    _unsized("RayJob", "ray.io", "v1", ray_clusters.job_changes),
    _unsized("RayService", "ray.io", "v1", lambda _: NO_CHANGES),
    _specified(
        kind="RayCluster",
        group="ray.io",
        versions=("v1",),
        spec=ray_clusters.RayClusterSpec,
        size=ray_clusters.size,
        templates=ray_clusters.templates,
        named_by=foreign_labels.RAY_CLUSTER,
        changes=ray_clusters.changes,
    ),
    _specified(
        kind="LeaderWorkerSet",
        group="leaderworkerset.x-k8s.io",
        versions=("v1",),
        spec=leader_worker_sets.LeaderWorkerSetSpec,
        size=leader_worker_sets.size,
        templates=leader_worker_sets.templates,
        named_by=foreign_labels.LWS_NAME,
        changes=leader_worker_sets.changes,
    ),
    _specified(
        kind="Job",
        group="batch.volcano.sh",
        versions=("v1alpha1",),
        spec=volcano_jobs.VolcanoJobSpec,
        size=volcano_jobs.size,
        templates=volcano_jobs.templates,
        named_by=foreign_labels.VOLCANO_JOB,
        changes=volcano_jobs.changes,
    ),
)
"""Every such kind."""
