"""A job as decisions see it, made of its pods and their owners; kept until one of these changes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from msgspec import Struct

from extender.core.cluster import (
    annotation_warnings,
    index_copies,
    job_spec,
    pod_shape,
    replacements,
    worker_gang,
)
from extender.core.cluster.device_demands import Named, claim_names, device_demands
from extender.core.cluster.jobs import Job, Member, State
from extender.core.cluster.owners import above_each
from extender.core.cluster.snapshot import Kept, Reservation, Slot, Snapshot
from extender.core.cluster.topology_request import first_of_each_role
from extender.core.kinds import registry
from extender.core.kinds.base import Membership, Owners, Problem
from extender.core.nodes.feasibility import weight
from shared import labels
from shared.model import JobKey, NodeName, OwnerReference, Pod

MOST_SHAPES: Final = 256
"""Different specs among the pods of one job; roles are a handful."""

MOST_WEIGHT: Final = 32_768
"""Requirements of nodes and their values in all different specs of a job; one pod may have half."""

Place = tuple[NodeName | None, Reservation | None, bool, bool]
"""Where a pod is bound, its reservation, whether its owner is there, whether it waits for a pod."""

_NOWHERE: Final[tuple[Place, ...]] = tuple(
    (None, None, there, waits) for there in (False, True) for waits in (False, True)
)
"""Of pods without a place: most of those that wait, and each of them holds one."""

_MOST_SIZES: Final = 4
"""Contradicting gang sizes that a message names."""


def view(snapshot: Snapshot, key: JobKey) -> Job:
    """Return the job of that key, which must be in ``snapshot.jobs``.

    What the user wrote is read from the members that are not leaving, the oldest first. A job of
    which nothing has changed is the same object as before.
    """
    pods = snapshot.jobs[key]
    over = above_each(snapshot, pods)
    places = [_place(snapshot, pod) for pod in pods]
    source = _source(snapshot, key, pods, over, places)
    views = snapshot.cache.of(VIEWS)
    held = views.get(key, source)
    if held is None:
        before = views.latest(key)
        seen = {} if before is None else {one.pod.uid: one for one in before.pods}
        copies = index_copies.of(snapshot, pods)
        pod_views = [
            _pod_view(snapshot, pod, owners, place, seen.get(pod.uid), copy=pod.uid in copies)
            for pod, owners, place in zip(pods, over, places, strict=True)
        ]
        places[:] = [one.place for one in pod_views]  # equal ones, which are held already
        held = _viewed(snapshot, key, pods, over, pod_views)
        views.put(key, source, held)
    return held.job


class _PodView(Struct, frozen=True, gc=False):
    """One pod as a member of its job, and what that was computed from."""

    member: Member
    membership: Membership
    above: Owners
    place: Place
    copy: bool
    volumes: object
    devices: tuple[Named, ...]

    @property
    def pod(self) -> Pod:
        return self.member.pod

    @property
    def source(self) -> tuple[object, ...]:
        return (self.pod, self.above, self.place, self.copy, self.volumes, self.devices)


class Viewed(NamedTuple):
    """A job, and each of its pods, so that the next view reads only those that changed."""

    job: Job
    pods: tuple[_PodView, ...]


VIEWS: Final[Slot[Kept[JobKey, Viewed]]] = Slot(Kept, Kept)
"""Jobs as ``view`` saw them, by key."""


def _source(
    snapshot: Snapshot,
    key: JobKey,
    pods: tuple[Pod, ...],
    over: Sequence[Owners],
    places: list[Place],
) -> tuple[object, ...]:
    """Return everything that a view is made of."""
    claims = any(pod.claims for pod in pods)
    return (
        pods,
        tuple({id(owners): owners for owners in over}.values()),
        places,
        (snapshot.claims, snapshot.volumes) if claims else None,
        _devices(snapshot, pods),
        snapshot.placeholders.get(key),
    )


def _devices(snapshot: Snapshot, pods: tuple[Pod, ...]) -> tuple[object, ...]:
    """Return what devices mean for the pods; those of a job differ in little."""
    if not snapshot.devices.served and not snapshot.devices.demands:
        return ()
    different = {(id(pod.shape), pod.device_claims): pod for pod in pods}.values()
    claims = snapshot.devices.claims
    return (
        *(device_demands(snapshot, pod) for pod in different),
        *(claims.get(name) for pod in different for name in claim_names(pod)),
    )


def _place(snapshot: Snapshot, pod: Pod) -> Place:
    """Return what a pod's state is made of beside the pod; called for each pod at each look."""
    owner, uid = pod.controller, pod.uid
    there = owner is not None and snapshot.owners.of(pod.namespace, owner) is not None
    is_copy = labels.REPLACES in pod.annotations
    waits = is_copy and replacements.waits(snapshot, pod)
    node, reservation = snapshot.bound.get(uid), snapshot.reservations.get(uid)
    if node is None and reservation is None:
        return _NOWHERE[2 * there + waits]
    return (node, reservation, there, waits)


def _viewed(
    snapshot: Snapshot,
    key: JobKey,
    pods: tuple[Pod, ...],
    over: Sequence[Owners],
    pod_views: Sequence[_PodView],
) -> Viewed:
    staying = [i for i, s in enumerate(pod_views) if s.member.state is not State.LEAVING] or [0]
    first, first_above = pods[staying[0]], over[staying[0]]
    size, size_problem = _size([(pods[i], pod_views[i].membership) for i in staying])
    living = [(pod_views[i].membership.role, over[i]) for i in staying]
    deciding_owners, scaled_by = worker_gang.deciding_owners(living)
    members = [(pods[i], over[i], pod_views[i].membership.role) for i in staying]
    spec = job_spec.read(first, first_above, deciding_owners, first_of_each_role(members))
    if (workers := worker_gang.workers(spec.workers, living)) is not None:
        size = worker_gang.size(size, workers, (first, first_above), living)
        spec = _with_workers(spec, workers, living)
    namespace, kind, name = key.split("/", 2)
    job = Job(
        key=key,
        namespace=namespace,
        kind=kind,
        name=name,
        about=_about(first, first_above),
        created_at=_created_at(first, first_above),
        members=tuple(s.member for s in pod_views),
        min_available=size,
        problem=_problem(pod_views, [pod_views[i] for i in staying])
        or size_problem
        or next(iter(spec.problems), None),
        spec=spec,
        kept=len(kept.placeholders) if (kept := snapshot.placeholders.get(key)) else 0,
        deciding_owners=deciding_owners,
        scaled_by=scaled_by,
        warnings=_warnings(members),
    )
    return Viewed(job, tuple(pod_views))


def _with_workers(
    spec: job_spec.JobSpec, workers: job_spec.WorkerRange, living: Sequence[worker_gang.Living]
) -> job_spec.JobSpec:
    """Return the specification with the range of workers, and the problem of a number outside."""
    out_of_range = worker_gang.problem(workers, living)
    problems = spec.problems if out_of_range is None else (*spec.problems, out_of_range)
    return replace(spec, workers=workers, problems=problems)


def _warnings(members: Sequence[tuple[Pod, Owners, str]]) -> tuple[str, ...]:
    """Return the warnings of one pod of each role: the others come from the same template."""
    warnings = [
        (*annotation_warnings.ignored(pod, over), *annotation_warnings.of_pod(pod, over))
        for _, pod, over in first_of_each_role(members)
    ]
    lines = (line for of_pod in warnings for line in of_pod)
    return tuple(dict.fromkeys(lines))[: annotation_warnings.MOST]


def _problem(pod_views: Sequence[_PodView], staying: Sequence[_PodView]) -> Problem | None:
    """Return what is wrong with the pods themselves, the first of it; None if nothing is."""
    excess = next((view.member.pod.excess for view in staying if view.member.pod.excess), "")
    if excess:
        return Problem(excess)
    problems = (view.membership.problem for view in staying)
    return next(filter(None, problems), None) or _variety(pod_views)


def _variety(pod_views: Sequence[_PodView]) -> Problem | None:
    """Return that the pods, which are planned at once, differ too much; None if they do not."""
    if len(pod_views) == 1:
        return None
    shapes = {view.member.shape for view in pod_views}
    if len(shapes) > MOST_SHAPES:
        count, noun, most = len(shapes), "different requests or requirements", MOST_SHAPES
    else:
        count, noun, most = sum(map(weight, shapes)), "requirements and values", MOST_WEIGHT
    if count <= most:
        return None
    return Problem(f"pods of the job: {count} {noun} in all, and at most {most} are allowed")


def _pod_view(
    snapshot: Snapshot,
    pod: Pod,
    over: Owners,
    place: Place,
    before: _PodView | None,
    *,
    copy: bool,
) -> _PodView:
    volumes = (snapshot.claims, snapshot.volumes) if pod.claims else None
    named = device_demands(snapshot, pod)
    source = (pod, over, place, copy, volumes, named)
    if before is not None and before.source == source:
        return before
    membership = registry.membership(pod, over)
    together = any(one.together for one in named)
    member = _member(snapshot, pod, membership, together=together, copy=copy)
    return _PodView(
        member=member,
        membership=membership,
        above=over,
        place=place,
        copy=copy,
        volumes=volumes,
        devices=named,
    )


def _about(pod: Pod, above: Owners) -> OwnerReference:
    top = above.top
    if top is not None:
        return OwnerReference(top.api_version, top.kind, top.name, top.uid)
    return pod.controller or OwnerReference("v1", "Pod", pod.name, pod.uid)


def _created_at(pod: Pod, above: Owners) -> float:
    group, top = above.group, above.top
    stated = (group.created_at if group else 0.0) or (top.created_at if top else 0.0)
    return stated or pod.created_at


def _member(
    snapshot: Snapshot, pod: Pod, membership: Membership, *, together: bool, copy: bool
) -> Member:
    state, node = (State.LEAVING, None) if copy else _state(snapshot, pod)
    shape, reservation = pod_shape.shape(snapshot, pod), snapshot.reservations.get(pod.uid)
    return Member(
        pod=pod,
        role=membership.role,
        index=membership.index,
        state=state,
        node=node,
        shape=shape,
        promised=reservation.plan if reservation is not None and reservation.promised else "",
        together=together,
    )


def _size(members: Sequence[tuple[Pod, Membership]]) -> tuple[int | None, Problem | None]:
    """Return the gang size, or which pods state different ones."""
    sizes: dict[int, str] = {}
    for pod, membership in members:
        if membership.size is not None and membership.size not in sizes:
            role = f" ({membership.role})" if membership.role else ""
            sizes[membership.size] = f"{membership.size} on {pod.name}{role}"
    if len(sizes) > 1:
        stated = ", ".join(sizes[size] for size in sorted(sizes)[:_MOST_SIZES])
        field = registry.size_field(members[0][0])
        message = f"{field} differs: {stated}; use one value on all pods of the job"
        return None, Problem(message, field)
    return next(iter(sizes), None), None


def _state(snapshot: Snapshot, pod: Pod) -> tuple[State, NodeName | None]:
    node = snapshot.bound.get(pod.uid) or pod.node_name
    if pod.finished and not _is_left_over(snapshot, pod):
        return (State.SUCCEEDED if pod.phase == "Succeeded" else State.FAILED), node
    if pod.deleting or pod.finished or (node and _is_left_over(snapshot, pod)):
        return State.LEAVING, node
    if node:
        return State.BOUND, node
    reservation = snapshot.reservations.get(pod.uid)
    if reservation:
        return State.RESERVED, reservation.node
    return State.HELD if replacements.waits(snapshot, pod) else _unreserved(pod), None


def _unreserved(pod: Pod) -> State:
    if labels.GATE in pod.gates or (pod.gates and not pod.scheduling_group):
        return State.GATED if len(pod.gates) == 1 and labels.GATE in pod.gates else State.HELD
    if labels.PLAN in pod.annotations:
        return State.LOOSE
    return State.IN_TREE if pod.scheduling_group else State.DIRECT


def _is_left_over(snapshot: Snapshot, pod: Pod) -> bool:
    """Return True if the pod outlives its owner for the moment that garbage collection takes.

    Its place must not be counted for a new job that was given the old one's name.
    """
    owner = pod.controller
    if owner is None or not registry.owner_is_read(owner):
        return False
    return snapshot.owners.of(pod.namespace, owner) is None
