"""What must be corrected before the nodes matter: labels, gates, missing pods, a quota.

Corrections are found one after the other until the planner examines nodes. Each has its steps, a
sentence, and the scenario after it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from msgspec.structs import replace as changed

from extender.core.cluster import job_views, jobs
from extender.core.cluster.jobs import Member, State
from extender.core.cluster.owners import above
from extender.core.cluster.reason_record import Limit
from extender.core.cluster.reasons import Reason
from extender.core.cluster.snapshot import Cache
from extender.core.explain import job_changes
from extender.core.explain.trials import Scenario, first_names
from extender.core.placement import planner, topology
from extender.core.queue import namespace_shares
from extender.core.queue.fair_share import Entitlement
from shared import labels
from shared.model import Owner, Pod, PodGroup, PodKey, PodShape, Uid
from shared.parameters import bounds
from shared.readapi.explanation import Step, StepKind

_MOST: Final = 6
"""Corrections that are made one after the other."""
_MOST_VALUES: Final = 4
"""Different values of one key that are shown."""
_GONE: Final = frozenset({State.FAILED, State.LEAVING})
_DIGITS: Final = 4
_MOST_BORROWING: Final = bounds(Entitlement)["borrowing"][1]

_Holder = Pod | Owner | PodGroup
"""An object with labels and annotations of the job."""
_OneHolder = TypeVar("_OneHolder", Pod, Owner, PodGroup)


@dataclass(frozen=True)
class Correction:
    """One correction: the token of its cause, the steps, and the scenario after them."""

    cause: str
    steps: tuple[Step, ...]
    text: str
    after: Scenario


def corrections(s: Scenario, old_pods: tuple[PodKey, ...]) -> tuple[Correction, ...]:
    """Return the corrections in order; ``old_pods`` are the pods that its held members wait for.

    1. Labels and annotations that cannot be used.
    2. A gang size that is not stated.
    3. Gates of other controllers, and old pods that still exist.
    4. Missing pods.
    5. A topology level that no node has.
    """
    made: list[Correction] = []
    while len(made) < _MOST:
        correction = _next(made[-1].after if made else s, old_pods)
        if correction is None:
            break
        made.append(correction)
    return tuple(made)


def raised_quota(s: Scenario, reason: Reason | None) -> tuple[Correction, ...]:
    """Return the lowest borrowing limit with which the namespace may hold the job too.

    Empty if the job waits for something else, or if no permitted limit is enough.
    """
    if reason is None or reason.limit is not Limit.QUOTA:
        return ()
    namespace = s.job.namespace
    entitled, _ = namespace_shares.entitlement(namespace, s.snapshot)
    share = namespace_shares.shares(s.snapshot, s.params).share_with(s.job)
    scale = 10**_DIGITS
    least = math.ceil((share - entitled.guaranteed) * scale - 1e-6) / scale
    if least > _MOST_BORROWING:
        return ()
    key, before, after = labels.BORROWING_LIMIT, f"{entitled.borrowing or 0:g}", f"{least:g}"
    step = Step(kind=StepKind.RAISE_QUOTA, subject=namespace, field=key, before=before, after=after)
    text = f"set {key} of namespace {namespace} to {after} (now {before})"
    return (Correction("quota", (step,), text, s),)


def _next(s: Scenario, old_pods: tuple[PodKey, ...]) -> Correction | None:
    if _problem(s):
        return next(_usable_metadata(s), None)
    if s.job.min_available is None:
        return _stated_gang_size(s)
    if len(s.waiting) >= max(1, planner.missing(s.job)):
        return _without_absent_level(s)
    if s.job.having(State.HELD):
        return _after_old_pods(s, old_pods) if old_pods else _without_gates(s)
    return _with_missing_pods(s)


def _without_absent_level(s: Scenario) -> Correction | None:
    """Return the correction that drops the required topology level if no node has it."""
    level = topology.absent_level(s.job, s.node_table, s.params.topology)
    if level is None:
        return None
    offer = job_changes.without_topology(s, level)
    return Correction("topology", offer.steps, offer.text, s.without_level(level))


def _usable_metadata(s: Scenario) -> Iterator[Correction]:
    """Yield each label or annotation whose change removes the problem or shows another one.

    Keys that the message names come first; the gang size is stated anew where nothing else does.
    """
    kinds: tuple[tuple[StepKind, str], ...] = (
        (StepKind.SET_ANNOTATION, "annotations"),
        (StepKind.SET_LABEL, "labels"),
    )
    candidates = [
        (key not in _problem(s), key, kind, field)
        for kind, field in kinds
        for key in {k for holder in _holders(s) for k in getattr(holder, field, ())}
    ]
    for _, key, kind, field in sorted(candidates, key=lambda candidate: candidate[:2]):
        before = next(getattr(h, field)[key] for h in _holders(s) if key in getattr(h, field, ()))
        for after in ("", str(_size(s))) if key == labels.MIN_AVAILABLE else ("",):
            corrected = _with(s, key, field, after)
            problem, has_size = _problem(corrected), corrected.job.min_available is not None
            if problem != _problem(s) and (problem or has_size):
                step = Step(kind=kind, subject=s.job.key, field=key, before=before, after=after)
                action = f"set {key} to {after}" if after else f"correct or drop {key}"
                text = f"{action} ({_now(s, key, field)})"
                yield Correction("annotation", (step,), text, corrected)
                break


def _now(s: Scenario, key: str, field: str) -> str:
    """Return the value of a label or annotation; where it differs, the object with each value."""
    stated: dict[str, str] = {}
    for holder in _holders(s):
        value = getattr(holder, field, {}).get(key)
        if value is not None:
            stated.setdefault(value, holder.name)
    if len(stated) == 1:
        return f"now {next(iter(stated))!r}"
    shown = [f"{value!r} on {name}" for value, name in list(stated.items())[:_MOST_VALUES]]
    return f"now {', '.join(shown)}"


def _problem(s: Scenario) -> str:
    problem = s.job.problem or topology.problem(s.job, s.params.topology)
    return "" if problem is None else problem.message


def _stated_gang_size(s: Scenario) -> Correction:
    size, key = str(_size(s)), labels.MIN_AVAILABLE
    step = Step(kind=StepKind.SET_ANNOTATION, subject=s.job.key, field=key, after=size)
    after = _with(s, key, "annotations", size)
    return Correction("gang-size", (step,), f"set the annotation {key} to {size}", after)


def _without_gates(s: Scenario) -> Correction:
    held = s.job.having(State.HELD)
    gates = sorted({gate for m in held for gate in m.pod.gates} - {labels.GATE})
    steps = tuple(
        Step(
            kind=StepKind.REMOVE_GATE,
            subject=s.job.key,
            field=gate,
            amount=sum(gate in m.pod.gates for m in held),
        )
        for gate in gates
    )
    text = f"let the controller that set the scheduling gate {' and '.join(gates)} remove it"
    return Correction("gate", steps, text, _with_held_queued(s))


def _after_old_pods(s: Scenario, old_pods: tuple[PodKey, ...]) -> Correction:
    steps = tuple(Step(kind=StepKind.WAIT, subject=key, field="end") for key in old_pods)
    text = f"wait until {first_names(old_pods)} is gone"
    return Correction("old-pod", steps, text, _with_held_queued(s))


def _with_missing_pods(s: Scenario) -> Correction | None:
    """Return the correction that creates the missing pods, like the last existing one."""
    like = next((m for m in reversed(s.job.members) if m.state not in _GONE), s.job.members[-1])
    count = max(1, planner.missing(s.job)) - len(s.waiting)
    step = Step(kind=StepKind.ADD_PODS, subject=s.job.key, amount=count)
    new = tuple(_copy(like, number) for number in range(count))
    text = f"create the {count} missing pods" if count > 1 else "create the missing pod"
    after = s.with_members((*s.job.members, *new))
    return Correction("pods-missing", (step,), text, after)


def _with_held_queued(s: Scenario) -> Scenario:
    return s.with_members(
        replace(m, state=State.GATED) if m.state is State.HELD else m for m in s.job.members
    )


def _copy(like: Member, number: int) -> Member:
    name = f"{like.pod.name}-new-{number}"
    pod = changed(like.pod, name=name, uid=Uid(name), node_name=None)
    return replace(like, pod=pod, index=None, state=State.GATED, node=None)


def _size(s: Scenario) -> int:
    return max(1, sum(m.state not in _GONE for m in s.job.members))


def _holders(s: Scenario) -> Iterator[_Holder]:
    for pod in s.snapshot.jobs[s.job.key]:
        over = above(s.snapshot, pod)
        yield pod
        yield from over.owners
        if over.group is not None:
            yield over.group


def _with(s: Scenario, key: str, field: str, value: str) -> Scenario:
    """Return the scenario with a label or annotation set on the pods, or removed everywhere."""
    snapshot, holders = s.snapshot, list(_holders(s))
    owners = [
        _without_in_template(_with_entry(h, key, field, ""), key)
        for h in holders
        if isinstance(h, Owner)
    ]
    groups = {h.key: _with_entry(h, key, field, "") for h in holders if isinstance(h, PodGroup)}
    pods = tuple(_with_entry(pod, key, field, value) for pod in snapshot.jobs[s.job.key])
    corrected = replace(
        snapshot,
        jobs={**snapshot.jobs, s.job.key: pods},
        owners=snapshot.owners.with_(owners),
        groups={**snapshot.groups, **groups},
        cache=Cache(),
    )
    session = replace(s.session, snapshot=corrected)
    return replace(s, session=session, job=as_queued(job_views.view(corrected, s.job.key)))


def _with_entry(holder: _OneHolder, key: str, field: str, value: str) -> _OneHolder:
    """Return the object with a label or annotation set; without it if the value is empty."""
    if not hasattr(holder, field):
        return holder
    kept = {k: v for k, v in getattr(holder, field).items() if k != key}
    return changed(holder, **{field: {**kept, key: value} if value else kept})


def _without_in_template(owner: Owner, key: str) -> Owner:
    return changed(owner, template={k: v for k, v in owner.template.items() if k != key})


def as_queued(job: jobs.Job) -> jobs.Job:
    """Return the job as if its pods without our gate had it, so that only the nodes matter.

    Equal shapes become one object: work on one shape counts for all its pods.
    """
    shapes: dict[PodShape, PodShape] = {}

    def queued(member: Member) -> Member:
        own = shapes.setdefault(member.pod.shape, member.pod.shape)
        return Member(
            pod=member.pod if own is member.pod.shape else changed(member.pod, shape=own),
            role=member.role,
            index=member.index,
            state=State.GATED if member.state is State.DIRECT else member.state,
            node=member.node,
            shape=shapes.setdefault(member.shape, member.shape),
        )

    return replace(job, members=tuple(map(queued, job.members)))
