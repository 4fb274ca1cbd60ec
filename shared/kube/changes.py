"""What may be changed of a running owner: numbers of pods, whether it is suspended or paused.

Nothing of an owner that is controlled by others: with a queue of Kueue, with another controller
than its own (``managedBy``), part of a larger owner, or being deleted.
"""

from typing import Final, NamedTuple

from msgspec.structs import replace

from shared import labels
from shared.kube import wire
from shared.model import Owner, Pause, WorkerCount

OWN_CONTROLLERS: Final = frozenset(
    {
        "",
        "kubernetes.io/job-controller",
        "jobset.sigs.k8s.io/jobset-controller",
        "trainer.kubeflow.org/trainjob-controller",
        "kubeflow.org/training-operator",
        "kubeflow.org/mpi-operator",
        "ray.io/kuberay-operator",
    }
)
"""Values of ``managedBy`` that mean the kind's own controller: of Kubernetes 1.36, JobSet v0.12.0,
Kubeflow Trainer v2.0.0, training-operator v1.9.3, mpi-operator v0.6.0, KubeRay v1.4.2."""

LETS_CHANGE: Final = frozenset({"CronJob", "RayJob"})
"""Controllers that keep numbers that others write into their objects (KubeRay v1.4.2
``controllers/ray/rayjob_controller.go``: it disregards differences)."""

MAY_STOP: Final = frozenset({"CronJob"})
"""Those that do not count a suspension as a failure."""


class Changes(NamedTuple):
    """What may be changed of one owner, by its spec only; fields as in ``Owner``."""

    counts: tuple[WorkerCount, ...] = ()
    suspend_field: str = ""
    suspended: bool = False
    managed_by: str | None = None
    groups: int = 1
    pause: Pause | None = None


NO_CHANGES: Final = Changes()


def suspendable(
    *,
    suspended: bool | None,
    managed_by: str | None,
    counts: tuple[WorkerCount, ...] = (),
    field: str = "/spec/suspend",
) -> Changes:
    """Return what may be changed of an owner that can be suspended."""
    return Changes(counts, field, bool(suspended), managed_by)


def with_changes(owner: Owner, meta: wire.Meta, changes: Changes) -> Owner:
    """Return the owner with the changes that we may make."""
    ours = (
        (changes.managed_by or "") in OWN_CONTROLLERS
        and labels.KUEUE_QUEUE not in owner.labels
        and meta.deletion_timestamp is None
    )
    above = owner.controller.kind if owner.controller else None
    may_stop = ours and above in {None, *MAY_STOP}
    return replace(
        owner,
        counts=changes.counts if ours and above in {None, *LETS_CHANGE} else (),
        suspend_field=changes.suspend_field if may_stop else "",
        suspended=changes.suspended,
        pause=changes.pause if may_stop else None,
        groups=changes.groups,
    )
