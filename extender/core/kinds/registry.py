"""Which kind reads a pod, and what the labels and annotations of a pod mean above any kind.

A job kind is one file and one line here. The functions of this module are those of the registry
``KINDS``.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from extender.core.kinds import base
from extender.core.kinds.abilities import (
    Nominating,
    Progressing,
    Resizable,
    Sized,
    SizedByPod,
    Supposable,
    WithRoles,
)
from extender.core.kinds.bare_pod import BarePod
from extender.core.kinds.base import (
    ControlledBy,
    JobKind,
    Membership,
    NamedGroup,
    Owners,
    Problem,
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
from extender.core.kinds.parking_facts import ParkingFacts
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
from shared.model import JobKey, Owner, OwnerReference, Pod

_Claim = tuple[Callable[[Pod], bool], JobKind]

GROUPS: Final[tuple[JobKind, ...]] = (
    LabelledJob(),
    VolcanoGroup(),
    SchedulerPluginsGroup(),
    InTreeGroup(),
)
"""Named by the pods, whatever made them: they decide the job; role and index are the maker's."""

MAKERS: Final[tuple[JobKind, ...]] = (
    VolcanoJob(),
    TrainingOperatorJob(),
    JobSet(),
    LeaderWorkerSet(),
    RayCluster(),
    KoordinatorGang(),
    YunikornApplication(),
    StatefulSet(),
    BatchJob(),
    Deployment(),
    KueueGroup(),
    BarePod(),
    UnknownOwner(),
)
"""In the order in which they claim pods: an operator before the Jobs and StatefulSets that it uses;
the last two claim everything that is left."""


MOST_KEYS: Final = 8192
"""Keys of jobs that are held; they take 3 MB at most."""


class Registry:
    """The job kinds, and the functions of all of them.

    Args:
        groups: See ``GROUPS``.
        makers: See ``MAKERS``.
    """

    def __init__(self, groups: Sequence[JobKind], makers: Sequence[JobKind]) -> None:
        self.kinds: Final = (*groups, *makers)
        # used for every pod in every cycle: most pods have no mark; their owner alone decides
        self._marks: Final = frozenset(mark for kind in self.kinds for mark in kind.marks)
        self._claims: Final[tuple[_Claim, ...]] = tuple((kind.claims, kind) for kind in self.kinds)
        unmarked = [kind for kind in self.kinds if not kind.marks]
        self._unmarked_claims: Final = _claims_by_controller(unmarked)
        self._other_claims: Final[tuple[_Claim, ...]] = tuple(
            (kind.claims, kind) for kind in unmarked if not isinstance(kind, ControlledBy)
        )
        self._maker_claims: Final = tuple((kind.claims, kind) for kind in makers)
        self._progressing_claims: Final = tuple(
            kind.claims for kind in makers if isinstance(kind, Progressing)
        )
        foreign = [kind for kind in groups if isinstance(kind, NamedGroup)]
        self._group_names: Final = tuple((kind.group_name, kind) for kind in foreign)
        self._group_marks: Final = frozenset(mark for kind in foreign for mark in kind.marks)
        self._unmarked_groups: Final = tuple((k.group_name, k) for k in foreign if not k.marks)
        self._group_kinds: Final = frozenset(kind.kind for kind in groups)
        self._foreign_kinds: Final = frozenset(kind.kind for kind in foreign)
        self._sizes: Final = {k.kind: k.size for k in self.kinds if isinstance(k, Sized)}
        self._size_fields: Final = {
            k.kind: k.size_field for k in self.kinds if isinstance(k, SizedByPod)
        }
        self._roles: Final = {k.kind: k.role for k in self.kinds if isinstance(k, WithRoles)}
        self._endless: Final = frozenset(kind.kind for kind in self.kinds if kind.endless)
        self._bare: Final = next((kind for kind in makers if isinstance(kind, BarePod)), None)
        self._controllers: Final = {k.controller: k for k in makers if isinstance(k, ControlledBy)}
        self._always_read: Final = frozenset(
            controller for controller, kind in self._controllers.items() if kind.always_read
        )
        self._parking: Final = {
            (facts.group, facts.kind): facts for kind in makers for facts in kind.parking
        }
        self._supposable: Final = {
            manifest: kind
            for kind in reversed(makers)
            if isinstance(kind, Supposable)
            for manifest in kind.manifests
        }

    def names_a_job(self, of_labels: Mapping[str, str], of_annotations: Mapping[str, str]) -> bool:
        """Return True if labels or annotations can put a pod into a job with other pods."""
        return not (self._marks.isdisjoint(of_labels) and self._marks.isdisjoint(of_annotations))

    def kind_of(self, pod: Pod) -> JobKind:
        """Return the first kind that claims the pod: the one that names its job."""
        candidates = self._claims
        if self._marks.isdisjoint(pod.labels) and self._marks.isdisjoint(pod.annotations):
            owner = pod.controller
            controller_kind = "" if owner is None else owner.kind
            candidates = self._unmarked_claims.get(controller_kind, self._other_claims)
        for claims, kind in candidates:
            if claims(pod):
                return kind
        raise AssertionError("the last kind claims every pod")

    def maker_of(self, pod: Pod) -> JobKind:
        """Return the kind that made the pod, whatever group it is in."""
        for claims, kind in self._maker_claims:
            if claims(pod):
                return kind
        raise AssertionError("the last kind claims every pod")

    def job_key(self, pod: Pod) -> JobKey:
        """Return the key of the pod's job, ``namespace/kind/name``; from the pod alone."""
        kind = self.kind_of(pod)
        return _key(pod.namespace, kind.kind, kind.job_name(pod))

    def membership(self, pod: Pod, above: Owners) -> Membership:
        """Return job, role, index and gang size of a pod.

        The size: our annotation on the pod, its group or an owner, then what the kind knows. The
        role: our label, then that of the kind. A bad label or annotation is a problem of this
        pod's job alone.
        """
        kind = self.kind_of(pod)
        name = kind.kind
        maker = self.maker_of(pod) if name in self._group_kinds else kind
        size, size_problem = self._size(kind, pod, above)
        index, index_problem = _index(kind, maker, pod, above)
        role, role_problem = base.role(pod, self._role(kind, maker, pod))
        problem = _excess(pod, above) or size_problem or index_problem or role_problem
        if not problem and name in self._foreign_kinds:
            problem = self._contradiction(pod)
        job = _key(pod.namespace, name, kind.job_name(pod))
        return Membership(job=job, role=role, index=index, size=size, problem=problem)

    def size_field(self, pod: Pod) -> str:
        """Return the part of a pod that states the gang size, or should; for messages."""
        ours = f"annotation {labels.MIN_AVAILABLE}"
        if labels.MIN_AVAILABLE in pod.annotations:
            return ours
        return self._size_fields.get(self.kind_of(pod).kind, ours)

    def is_endless(self, job: JobKey) -> bool:
        """Return True if the job ends only when it is deleted."""
        return job.split("/", 2)[1] in self._endless

    def is_named_by_label(self, job: JobKey) -> bool:
        """Return True if our label names the job, whatever makes its pods."""
        return job.split("/", 2)[1] == LabelledJob.kind

    def resizable(self, pod: Pod) -> Resizable | None:
        """Return what knows which workers leave when the pod's maker shrinks; None: nothing."""
        maker = self.maker_of(pod)
        return maker if isinstance(maker, Resizable) else None

    def nominating(self, pod: Pod) -> Nominating | None:
        """Return what knows what is written on pods before they leave; None: nothing is."""
        maker = self.maker_of(pod)
        return maker if isinstance(maker, Nominating) else None

    def progressing(self, pod: Pod) -> Progressing | None:
        """Return what knows how far the training is that the pod is a part of; None: nothing."""
        if not any(claims(pod) for claims in self._progressing_claims):
            return None  # nearly always: called for every running job
        maker = self.maker_of(pod)
        return maker if isinstance(maker, Progressing) else None

    def controlled_by(self, controller: OwnerReference | None) -> ControlledBy | BarePod | None:
        """Return the kind whose pods have this controller; None if it is no known one."""
        if controller is None:
            return self._bare
        group = controller.api_version.partition("/")[0]
        return self._controllers.get((group, controller.kind))

    def supposable(self, kind: str, group: str) -> Supposable | None:
        """Return what knows the pods of a manifest of this kind and API group; None: nothing."""
        return self._supposable.get((kind, group))

    def parking_facts(self, owner: Owner) -> ParkingFacts | None:
        """Return what parking does to an owner; None if nothing is known of its kind."""
        return self._parking.get((owner.api_version.partition("/")[0], owner.kind))

    def all_parking_facts(self) -> tuple[ParkingFacts, ...]:
        """Return the facts of every kind of owner."""
        return tuple(self._parking.values())

    def understood(self) -> tuple[tuple[str, str], ...]:
        """Return kind and API group of all manifests whose pods are known."""
        return tuple(self._supposable)

    def group_key(self, pod: Pod) -> str | None:
        """Return the key (``PodGroup.key``) of the group that the pod names; None for none."""
        names, marks = self._group_names, self._group_marks
        if marks.isdisjoint(pod.labels) and marks.isdisjoint(pod.annotations):
            names = self._unmarked_groups  # nearly always; asked of every pod at each look
        for name_of, kind in names:
            if name := name_of(pod):
                return f"PodGroup.{kind.api_group}/{pod.namespace}/{name}"
        return None

    def owner_is_read(self, reference: OwnerReference) -> bool:
        """Return True if owners of this kind are watched: one that is not observed is gone."""
        return (reference.api_version.partition("/")[0], reference.kind) in self._always_read

    def _size(self, kind: JobKind, pod: Pod, above: Owners) -> tuple[int | None, Problem | None]:
        try:
            stated_by_us = annotation(pod, above, labels.MIN_AVAILABLE)
            if stated_by_us is not None:
                return count(f"annotation {labels.MIN_AVAILABLE}", stated_by_us), None
            size = self._sizes.get(kind.kind)
            return (None if size is None else size(pod, above)), None
        except InputError as error:
            return None, Problem.of(error)

    def _role(self, kind: JobKind, maker: JobKind, pod: Pod) -> str:
        for name in (maker.kind, kind.kind):
            if name in self._roles and (role := self._roles[name](pod)):
                return role
        return ""

    def _contradiction(self, pod: Pod) -> Problem | None:
        """Return which two groups the pod names, if it names two; our label would decide."""
        older, newer = foreign_labels.VOLCANO_GROUP, foreign_labels.VOLCANO_GROUP_TOO
        named = [
            (kind.field, name) for name_of, kind in self._group_names if (name := name_of(pod))
        ]
        if older in pod.annotations and newer in pod.annotations:
            named.append((f"annotation {newer}", pod.annotations[newer]))
        first_field, first = named[0]
        for field, name in named[1:]:
            if name != first:
                expected = f"the group that {first_field} names, {first!r}"
                return Problem.of(InputError(field, name, expected))
        return None


@lru_cache(maxsize=MOST_KEYS)
def _key(namespace: str, kind: str, name: str) -> JobKey:
    """Return the key of a job: one text for all its pods."""
    return JobKey(f"{namespace}/{kind}/{name}")


def _claims_by_controller(kinds: Sequence[JobKind]) -> Mapping[str, tuple[_Claim, ...]]:
    """Return the kinds that a pod can be of, by the kind of its controller, in their order."""
    return {
        controller_kind: tuple(
            (kind.claims, kind)
            for kind in kinds
            if not isinstance(kind, ControlledBy) or kind.controller_kind == controller_kind
        )
        for controller_kind in {k.controller_kind for k in kinds if isinstance(k, ControlledBy)}
    }


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
    """Return an annotation of ours, else the first of other projects that means the same.

    Returns:
        The key that is set, and its text; our key and None if there is none.
    """
    for alike in (key, *foreign_labels.SAME_AS.get(key, ())):
        text = annotation(pod, above, alike)
        if text is not None:
            return alike, text
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


def _index(
    kind: JobKind, maker: JobKind, pod: Pod, above: Owners
) -> tuple[int | None, Problem | None]:
    try:
        index = maker.index(pod, above)
        if index is None and kind is not maker:
            index = kind.index(pod, above)
    except InputError as error:
        return None, Problem.of(error)
    return index, None


KINDS: Final = Registry(GROUPS, MAKERS)

names_a_job = KINDS.names_a_job
kind_of = KINDS.kind_of
maker_of = KINDS.maker_of
job_key = KINDS.job_key
membership = KINDS.membership
size_field = KINDS.size_field
is_endless = KINDS.is_endless
is_named_by_label = KINDS.is_named_by_label
resizable = KINDS.resizable
nominating = KINDS.nominating
progressing = KINDS.progressing
controlled_by = KINDS.controlled_by
supposable = KINDS.supposable
parking_facts = KINDS.parking_facts
all_parking_facts = KINDS.all_parking_facts
understood = KINDS.understood
group_key = KINDS.group_key
owner_is_read = KINDS.owner_is_read
