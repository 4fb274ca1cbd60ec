"""The job kinds of other projects: where they are served, and raw JSON to ``shared.owners.Owner``.

A further kind is one line in ``OWNERS`` and, if it says how many pods it wants, a function in
``sizes``; deploy/base/rbac.yaml must let us read it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from shared.kube import job_sets, sizes, wire
from shared.kube.parse import Data, names_the_object, owner
from shared.model import Owner

S = TypeVar("S")


class Object(Struct, Generic[S]):
    """A custom resource, as far as it is read here."""

    metadata: wire.Meta
    spec: S | None = None


class Unread(Struct):
    """A part of which nothing is read."""


class WithMeta(Protocol):
    """What every object has."""

    metadata: wire.Meta


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
) -> OwnerKind:
    """Return a kind that is read as ``whole``."""
    decoder = msgspec.json.Decoder(whole)
    api_version = f"{group}/{versions[0]}"

    @names_the_object
    def decode(data: Data) -> Owner:
        raw = decoder.decode(data)
        return owner(raw.metadata, api_version, kind, size(raw))

    return OwnerKind(kind, group, versions, decode)


def _by_spec(size: Callable[[S], int | None]) -> Callable[[Object[S]], int | None]:
    return lambda found: None if found.spec is None else size(found.spec)


def _unsized(kind: str, group: str, version: str) -> OwnerKind:
    """Return a kind that owns the one that says the size."""
    return _kind(kind, group, (version,), Object[Unread], lambda _: None)


def _kubeflow(kind: str, *versions: str) -> OwnerKind:
    size = _by_spec(sizes.kubeflow)
    return _kind(kind, "kubeflow.org", versions, Object[sizes.KubeflowSpec], size)


OWNERS: Final = (
    _kind("JobSet", "jobset.x-k8s.io", ("v1alpha2",), job_sets.JobSet, job_sets.size),
    _unsized("TrainJob", "trainer.kubeflow.org", "v1alpha1"),
    _kubeflow("PyTorchJob", "v1"),
    _kubeflow("TFJob", "v1"),
    _kubeflow("MPIJob", "v2beta1", "v1"),
    _kubeflow("XGBoostJob", "v1"),
    _kubeflow("PaddleJob", "v1"),
    _kubeflow("JAXJob", "v1"),
    _unsized("RayJob", "ray.io", "v1"),
    _unsized("RayService", "ray.io", "v1"),
    _kind(
        "RayCluster",
        "ray.io",
        ("v1",),
        Object[sizes.RayClusterSpec],
        _by_spec(sizes.ray_cluster),
    ),
    _kind(
        "LeaderWorkerSet",
        "leaderworkerset.x-k8s.io",
        ("v1",),
        Object[sizes.LeaderWorkerSetSpec],
        _by_spec(sizes.leader_worker_set),
    ),
    _kind(
        "Job",
        "batch.volcano.sh",
        ("v1alpha1",),
        Object[sizes.VolcanoJobSpec],
        _by_spec(sizes.volcano_job),
    ),
)
"""Every such kind."""
