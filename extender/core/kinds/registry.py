"""Which adapter reads a pod, and what a pod's labels and annotations say above any adapter."""

from collections.abc import Mapping
from typing import Final

from extender.core.kinds import roles
from extender.core.kinds.bare_pod import BarePod
from extender.core.kinds.base import (
    Grouped,
    JobAdapter,
    Membership,
    Nominating,
    Owners,
    Progressing,
    Resizable,
    Sized,
    SizedByPod,
    WithRoles,
    count,
)
from extender.core.kinds.deployment import Deployment
from extender.core.kinds.in_tree_group import InTreeGroup
from extender.core.kinds.job import BatchJob
from extender.core.kinds.job_set import JobSet
from extender.core.kinds.koordinator_gang import KoordinatorGang
from extender.core.kinds.kueue_group import KueueGroup
from extender.core.kinds.labelled import LabelledJob
from extender.core.kinds.leader_worker_set import LeaderWorkerSet
from extender.core.kinds.problem import Problem
from extender.core.kinds.ray_cluster import RayCluster
from extender.core.kinds.scheduler_plugins_group import SchedulerPluginsGroup
from extender.core.kinds.stateful_set import StatefulSet
from extender.core.kinds.training_operator import TrainingOperatorJob
from extender.core.kinds.unknown_owner import UnknownOwner
from extender.core.kinds.volcano_group import VolcanoGroup
from extender.core.kinds.volcano_job import VolcanoJob
from extender.core.kinds.yunikorn_application import YunikornApplication
from shared import foreign_labels, labels
from shared.errors import InputError
from shared.model import JobKey, OwnerReference, Pod

_VOLCANO: Final = VolcanoGroup()
_FOREIGN_GROUPS: Final[tuple[Grouped, ...]] = (_VOLCANO, SchedulerPluginsGroup(), InTreeGroup())

GROUPS: Final[tuple[JobAdapter, ...]] = (LabelledJob(), *_FOREIGN_GROUPS)
"""Named by the pods, whoever made them: they decide the job; role and index are the maker's."""

MAKERS: Final[tuple[JobAdapter, ...]] = (
    VolcanoJob(),
    TrainingOperatorJob(),
    JobSet(),
    LeaderWorkerSet(),
    RayCluster(),
    KoordinatorGang(),
    YunikornApplication(),
    BatchJob(),
    StatefulSet(),
    Deployment(),
    KueueGroup(),
    BarePod(),
    UnknownOwner(),
)
"""In the order in which they are asked: an operator before the Jobs and StatefulSets that it uses;
the last two claim everything that is left."""

ADAPTERS: Final = (*GROUPS, *MAKERS)

_READ_OWNERS: Final = frozenset({("batch", "Job"), ("apps", "StatefulSet")})

# asked for every pod in every cycle: most pods have no mark, and are told by their owner alone
_MARKS: Final = frozenset(mark for adapter in ADAPTERS for mark in adapter.marks)
_CLAIMS: Final = tuple((adapter.claims, adapter) for adapter in ADAPTERS)
_UNMARKED_CLAIMS: Final = tuple((a.claims, a) for a in ADAPTERS if not a.marks)
_MAKER_CLAIMS: Final = tuple((adapter.claims, adapter) for adapter in MAKERS)
_PROGRESSING_CLAIMS: Final = tuple(a.claims for a in MAKERS if isinstance(a, Progressing))
_GROUP_NAMES: Final = tuple((adapter.group_name, adapter) for adapter in _FOREIGN_GROUPS)
_GROUP_KINDS: Final = frozenset(adapter.kind for adapter in GROUPS)
_FOREIGN_KINDS: Final = frozenset(adapter.kind for adapter in _FOREIGN_GROUPS)
_SIZES: Final = {adapter.kind: adapter.size for adapter in ADAPTERS if isinstance(adapter, Sized)}
_SIZE_FIELDS: Final = {a.kind: a.size_field for a in ADAPTERS if isinstance(a, SizedByPod)}
_ROLES: Final = {a.kind: a.role for a in ADAPTERS if isinstance(a, WithRoles)}


def names_a_job(of_labels: Mapping[str, str], of_annotations: Mapping[str, str]) -> bool:
    """Say whether a pod's labels or annotations can put it into a job with other pods."""
    return not (_MARKS.isdisjoint(of_labels) and _MARKS.isdisjoint(of_annotations))


def adapter_of(pod: Pod) -> JobAdapter:
    """Return the first adapter that claims the pod: the one that names its job."""
    marked = names_a_job(pod.labels, pod.annotations)
    for claims, adapter in _CLAIMS if marked else _UNMARKED_CLAIMS:
        if claims(pod):
            return adapter
    raise AssertionError("the last adapter claims every pod")


def maker_of(pod: Pod) -> JobAdapter:
    """Return the adapter of the kind that made the pod, whatever group it is in."""
    for claims, adapter in _MAKER_CLAIMS:
        if claims(pod):
            return adapter
    raise AssertionError("the last adapter claims every pod")


def job_key(pod: Pod) -> JobKey:
    """Return the key of the pod's job, ``namespace/kind/name``; from the pod alone."""
    adapter = adapter_of(pod)
    return JobKey(f"{pod.namespace}/{adapter.kind}/{adapter.job_name(pod)}")


def membership(pod: Pod, above: Owners) -> Membership:
    """Return job, role, index and gang size of a pod.

    The size: our annotation on the pod, its group or an owner, then what the kind knows. The role:
    our label, then the kind's. A bad label or annotation is a problem of this pod's job alone.
    """
    adapter = adapter_of(pod)
    kind = adapter.kind
    maker = maker_of(pod) if kind in _GROUP_KINDS else adapter
    size, size_problem = _size(adapter, pod, above)
    index, index_problem = _index(adapter, maker, pod, above)
    role, role_problem = roles.role(pod, _role(adapter, maker, pod))
    problem = _excess(pod, above) or size_problem or index_problem or role_problem
    if not problem and kind in _FOREIGN_KINDS:
        problem = _contradiction(pod)
    job = JobKey(f"{pod.namespace}/{kind}/{adapter.job_name(pod)}")
    return Membership(job=job, role=role, index=index, size=size, problem=problem)


def size_field(pod: Pod) -> str:
    """Return what of a pod states the gang size, or where ours should: for messages."""
    ours = f"annotation {labels.MIN_AVAILABLE}"
    if labels.MIN_AVAILABLE in pod.annotations:
        return ours
    return _SIZE_FIELDS.get(adapter_of(pod).kind, ours)


def resizable(pod: Pod) -> Resizable | None:
    """Return what knows which workers leave when the maker of the pod shrinks; None: nobody."""
    maker = maker_of(pod)
    return maker if isinstance(maker, Resizable) else None


def nominating(pod: Pod) -> Nominating | None:
    """Return what must be written on pods before they leave; None: their owner asks for nothing."""
    maker = maker_of(pod)
    return maker if isinstance(maker, Nominating) else None


def progressing(pod: Pod) -> Progressing | None:
    """Return what knows how far the training is that the pod is a part of; None: nobody."""
    if not any(claims(pod) for claims in _PROGRESSING_CLAIMS):
        return None  # nearly always: asked for every job that runs
    maker = maker_of(pod)
    return maker if isinstance(maker, Progressing) else None


def group_key(pod: Pod) -> str | None:
    """Return the key (``PodGroup.key``) of the group that the pod names; None if it names none."""
    for name_of, adapter in _GROUP_NAMES:
        if name := name_of(pod):
            return f"PodGroup.{adapter.api_group}/{pod.namespace}/{name}"
    return None


def owner_is_read(reference: OwnerReference) -> bool:
    """Say whether owners of this kind are watched: one that was not seen does not exist."""
    return (reference.api_version.partition("/")[0], reference.kind) in _READ_OWNERS


def annotation(pod: Pod, above: Owners, key: str) -> str | None:
    """Return an annotation of the pod, else of its group, else of its nearest owner that has it."""
    if key in pod.annotations:
        return pod.annotations[key]
    group = above.group
    if group is not None and key in group.annotations:
        return group.annotations[key]
    for owner in above.owners:
        if key in owner.annotations:
            return owner.annotations[key]
    return None


def stated(pod: Pod, above: Owners, key: str) -> tuple[str, str | None]:
    """Return an annotation of ours, else the first of other projects that says the same.

    Returns:
        The key that was found, and its text; our key and None if there is none.
    """
    for one in (key, *foreign_labels.SAME_AS.get(key, ())):
        text = annotation(pod, above, one)
        if text is not None:
            return one, text
    return key, None


def _excess(pod: Pod, above: Owners) -> Problem | None:
    """Return which labels or annotations are too many to be kept: the rest may be misleading."""
    group = above.group
    if pod.excess:
        return Problem(pod.excess)
    if group is not None and group.excess:
        return Problem(f"PodGroup {group.name}: {group.excess}")
    for owner in above.owners:
        if owner.excess:
            return Problem(f"{owner.kind} {owner.name}: {owner.excess}")
    return None


def _size(adapter: JobAdapter, pod: Pod, above: Owners) -> tuple[int | None, Problem | None]:
    try:
        stated_by_us = annotation(pod, above, labels.MIN_AVAILABLE)
        if stated_by_us is not None:
            return count(f"annotation {labels.MIN_AVAILABLE}", stated_by_us), None
        size = _SIZES.get(adapter.kind)
        return (None if size is None else size(pod, above)), None
    except InputError as error:
        return None, Problem.of(error)


def _index(
    adapter: JobAdapter, maker: JobAdapter, pod: Pod, above: Owners
) -> tuple[int | None, Problem | None]:
    try:
        index = maker.index(pod, above)
        if index is None and adapter is not maker:
            index = adapter.index(pod, above)
    except InputError as error:
        return None, Problem.of(error)
    return index, None


def _role(adapter: JobAdapter, maker: JobAdapter, pod: Pod) -> str:
    for kind in (maker.kind, adapter.kind):
        if kind in _ROLES and (role := _ROLES[kind](pod)):
            return role
    return ""


def _contradiction(pod: Pod) -> Problem | None:
    """Return which two groups the pod names, if it names two; our label would decide."""
    older, newer = foreign_labels.VOLCANO_GROUP, foreign_labels.VOLCANO_GROUP_TOO
    named = [(adapter.field, name) for name_of, adapter in _GROUP_NAMES if (name := name_of(pod))]
    if older in pod.annotations and newer in pod.annotations:
        named.append((f"annotation {newer}", pod.annotations[newer]))
    first_field, first = named[0]
    for field, name in named[1:]:
        if name != first:
            expected = f"the group that {first_field} names, {first!r}"
            return Problem.of(InputError(field, name, expected))
    return None
