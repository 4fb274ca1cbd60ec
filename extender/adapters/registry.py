"""Which adapter reads a pod, and what a pod's labels and annotations say above any adapter."""

from typing import Final

from extender.adapters.bare_pod import BarePod
from extender.adapters.base import Above, Grouped, JobAdapter, Membership, SizedByOwner, WithRoles
from extender.adapters.job import BatchJob
from extender.adapters.labelled import LabelledJob
from extender.adapters.stateful_set import StatefulSet
from extender.adapters.training_operator import TrainingOperatorJob
from extender.adapters.unknown_owner import UnknownOwner
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, Owner, OwnerReference, Pod, PodGroup

ADAPTERS: Final[tuple[JobAdapter, ...]] = (
    LabelledJob(),
    TrainingOperatorJob(),
    BatchJob(),
    StatefulSet(),
    BarePod(),
    UnknownOwner(),
)
"""In the order in which they are asked; the last two claim everything that is left."""


_READ_OWNERS: Final = frozenset({("batch", "Job"), ("apps", "StatefulSet")})

# asked for every pod in every cycle: a check against a protocol costs more than all the rest
_SIZED: Final = {adapter.kind: adapter for adapter in ADAPTERS if isinstance(adapter, SizedByOwner)}
_GROUPED: Final = {adapter.kind: adapter for adapter in ADAPTERS if isinstance(adapter, Grouped)}
_WITH_ROLES: Final = {
    adapter.kind: adapter for adapter in ADAPTERS if isinstance(adapter, WithRoles)
}


def adapter_of(pod: Pod) -> JobAdapter:
    """Return the first adapter that claims the pod."""
    return next(adapter for adapter in ADAPTERS if adapter.claims(pod))


def job_key(pod: Pod) -> JobKey:
    """Return the key of the pod's job, ``namespace/kind/name``; from the pod alone."""
    adapter = adapter_of(pod)
    return JobKey(f"{pod.namespace}/{adapter.kind}/{adapter.job_name(pod)}")


def membership(pod: Pod, above: Above) -> Membership:
    """Return job, role, index and gang size of a pod.

    The size: annotation of the pod, of what is above it, then what the kind knows. The role:
    our label, then the kind's. A bad annotation is a problem of this pod's job alone.
    """
    adapter = adapter_of(pod)
    size, problem = _stated_size(pod, above)
    if size is None and not problem and adapter.kind in _SIZED:
        size = _SIZED[adapter.kind].size(pod, above)
    role, role_problem = _role(adapter, pod)
    return Membership(
        job=job_key(pod),
        role=role,
        index=adapter.index(pod),
        size=size,
        problem=problem or role_problem,
    )


def group_key(pod: Pod) -> str | None:
    """Return the key (``PodGroup.key``) of the group that the pod names; None if it names none."""
    adapter = adapter_of(pod)
    return _GROUPED[adapter.kind].group_key(pod) if adapter.kind in _GROUPED else None


def owner_is_read(reference: OwnerReference) -> bool:
    """Say whether owners of this kind are watched: one that was not seen does not exist."""
    return (reference.api_version.partition("/")[0], reference.kind) in _READ_OWNERS


def annotation(pod: Pod, above: Above, key: str) -> str | None:
    """Return an annotation of the pod, else of its group, else of its nearest owner that has it."""
    group = () if above.group is None else (above.group,)
    holders: tuple[Pod | PodGroup | Owner, ...] = (pod, *group, *above.owners)
    return next((h.annotations[key] for h in holders if key in h.annotations), None)


def _stated_size(pod: Pod, above: Above) -> tuple[int | None, str]:
    text = annotation(pod, above, labels.MIN_AVAILABLE)
    if text is None:
        return None, ""
    if text.isascii() and text.isdecimal() and int(text) >= 1:
        return int(text), ""
    field = f"annotation {labels.MIN_AVAILABLE}"
    return None, str(InputError(field, text, "an integer of at least 1"))


def _role(adapter: JobAdapter, pod: Pod) -> tuple[str, str]:
    ours = pod.labels.get(labels.ROLE, "").lower()
    theirs = _WITH_ROLES[adapter.kind].role(pod) if adapter.kind in _WITH_ROLES else ""
    kubeflow = pod.labels.get(labels.TRAINING_REPLICA_TYPE, "").lower()
    stated = {role for role in (ours, theirs, kubeflow) if role}
    if len(stated) > 1:
        field = f"label {labels.ROLE}"
        expected = (
            f"the role that label {labels.TRAINING_REPLICA_TYPE} names, {theirs or kubeflow!r}"
        )
        return ours, str(InputError(field, ours, expected))
    return next(iter(stated), ""), ""
