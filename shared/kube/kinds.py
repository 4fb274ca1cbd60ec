"""The job kinds of other projects: where they are served, and raw JSON to ``shared.owners.Owner``.

A further kind is one line in ``OWNERS`` and, if it says how many pods it wants, a function in
``sizes``, if that may change, one in ``elastic``; deploy/base/rbac-kinds.yaml must let us read it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from shared import foreign_labels, label_selectors, labels
from shared.kube import elastic, job_sets, pod_templates, role_templates, sizes, train_jobs, wire
from shared.kube.changes import NO_CHANGES, Changes, suspendable, with_changes
from shared.kube.parse import Data, names_the_object, owner
from shared.kube.role_templates import Templates
from shared.model import Owner, OwnProgress

S = TypeVar("S")


class Object(Struct, Generic[S]):
    """A custom resource, as far as it is read here."""

    metadata: wire.Meta
    spec: S | None = None
    api_version: str = msgspec.field(default="", name="apiVersion")


class Unread(Struct):
    """A part of which nothing is read."""


class Suspending(Struct, rename="camel"):
    """``spec`` of a kind of which little is read, and what it says of the RayCluster it makes."""

    suspend: bool | None = None
    managed_by: str | None = None
    shutdown_after_job_finishes: bool | None = None
    cluster_selector: dict[str, str] | None = None
    ray_cluster_spec: sizes.RayClusterSpec | None = None
    ray_cluster_config: sizes.RayClusterSpec | None = None


class WithMeta(Protocol):
    """What every object has."""

    metadata: wire.Meta

    @property
    def api_version(self) -> str:
        """``apiVersion``; empty where the server has left it out of a list."""
        ...


Whole = TypeVar("Whole", bound=WithMeta)


@dataclass(frozen=True)
class OwnerKind:
    """A kind whose objects own pods, or own what owns pods.

    Attributes:
        kind: Its name.
        group: Its API group.
        versions: Those we can read; the first that the server has is read.
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
        found = replace(
            owner(raw.metadata, raw.api_version or first, kind, size(raw)),
            template=pod_templates.stated(templates(raw)),
            selector=label_selectors.named(named_by, name) if named_by else None,
        )
        found, said = with_changes(found, raw.metadata, changes(raw)), progress(raw)
        return found if said is None else replace(found, progress=said)

    return OwnerKind(kind, group, versions, decode)


def _specified(
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

    def sized(found: Object[S]) -> int | None:
        return None if found.spec is None else size(found.spec)

    def changed(found: Object[S]) -> Changes:
        return NO_CHANGES if found.spec is None else changes(found.spec)

    def stamped(found: Object[S]) -> Templates:
        return () if found.spec is None else templates(found.spec)

    whole = Object[spec]  # type: ignore[valid-type]
    return _kind(kind, group, versions, whole, sized, changed, stamped, named_by)


def _unsized(
    kind: str, group: str, version: str, changes: Callable[[Suspending], Changes]
) -> OwnerKind:
    """Return a kind that owns the one that says the size."""
    return _specified(
        kind, group, (version,), Suspending, lambda _: None, _of_its_cluster, "", changes
    )


def _of_its_cluster(spec: Suspending) -> Templates:
    """Its RayCluster has a name of its own, so that no label of the pods names the kind."""
    cluster = spec.ray_cluster_spec or spec.ray_cluster_config
    return () if cluster is None else role_templates.ray_cluster(cluster)


def _kubeflow(
    kind: str,
    *versions: str,
    changes: Callable[[sizes.KubeflowSpec], Changes] = elastic.kubeflow,
) -> OwnerKind:
    return _specified(
        kind,
        "kubeflow.org",
        versions,
        sizes.KubeflowSpec,
        sizes.kubeflow,
        role_templates.kubeflow,
        labels.TRAINING_JOB_NAME,
        changes,
    )


def _ray_job(spec: Suspending) -> Changes:
    """Return its suspension, where KubeRay allows it: the cluster ends with the job.

    Source:
        KubeRay v1.4.2 controllers/ray/utils/validation.go (``ValidateRayJobSpec``).
    """
    if not spec.shutdown_after_job_finishes or spec.cluster_selector:
        return NO_CHANGES
    return suspendable(suspended=spec.suspend, managed_by=spec.managed_by)


def _leader_worker_set(spec: sizes.LeaderWorkerSetSpec) -> Changes:
    """Return how many groups it has; without a number it is one.

    Source:
        LeaderWorkerSet v0.7.0 api/leaderworkerset/v1/leaderworkerset_types.go.
    """
    return NO_CHANGES._replace(groups=1 if spec.replicas is None else spec.replicas)


OWNERS: Final = (
    _kind(
        "JobSet",
        "jobset.x-k8s.io",
        ("v1alpha2",),
        job_sets.JobSet,
        job_sets.size,
        elastic.job_set,
        role_templates.job_set,
        foreign_labels.JOBSET_NAME,
    ),
    _kind(
        "TrainJob",
        "trainer.kubeflow.org",
        ("v1alpha1",),
        train_jobs.TrainJob,
        lambda _: None,
        train_jobs.changes,
        train_jobs.templates,
        foreign_labels.JOBSET_NAME,  # its JobSet has its name
        train_jobs.progress,
    ),
    _kubeflow("PyTorchJob", "v1", changes=elastic.pytorch_job),
    _kubeflow("TFJob", "v1", changes=elastic.tf_job),
    _kubeflow("MPIJob", "v2beta1", "v1", changes=elastic.mpi_job),
    _kubeflow("XGBoostJob", "v1"),
    _kubeflow("PaddleJob", "v1"),
    _kubeflow("JAXJob", "v1"),
    _unsized("RayJob", "ray.io", "v1", _ray_job),
    _unsized("RayService", "ray.io", "v1", lambda _: NO_CHANGES),
    _specified(
        "RayCluster",
        "ray.io",
        ("v1",),
        sizes.RayClusterSpec,
        sizes.ray_cluster,
        role_templates.ray_cluster,
        foreign_labels.RAY_CLUSTER,
        elastic.ray_cluster,
    ),
    _specified(
        "LeaderWorkerSet",
        "leaderworkerset.x-k8s.io",
        ("v1",),
        sizes.LeaderWorkerSetSpec,
        sizes.leader_worker_set,
        role_templates.leader_worker_set,
        foreign_labels.LWS_NAME,
        _leader_worker_set,
    ),
    _specified(
        "Job",
        "batch.volcano.sh",
        ("v1alpha1",),
        sizes.VolcanoJobSpec,
        sizes.volcano_job,
        role_templates.volcano_job,
        foreign_labels.VOLCANO_JOB,
        elastic.volcano_job,
    ),
)
"""Every such kind."""
