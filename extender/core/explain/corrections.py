"""What has to be mended before the nodes matter: labels, gates, pods that are not there.

One correction after the other, until the planner looks at nodes: each gives the steps, a sentence,
and the situation after it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from msgspec.structs import replace as changed

from extender.core.cluster import job_views, jobs
from extender.core.cluster.cache import Cache
from extender.core.cluster.jobs import Member, State
from extender.core.cluster.owners import above
from extender.core.explain import job_changes
from extender.core.explain.offers import names
from extender.core.explain.trial import Situation
from extender.core.placement import planner, topology
from shared import labels
from shared.explanation import Step, StepKind
from shared.model import Owner, Pod, PodGroup, PodKey, PodShape, Uid

_MOST: Final = 6
"""Corrections that are made one after the other."""
_MOST_VALUES: Final = 4
"""Different values of one key that are shown."""
_GONE: Final = frozenset({State.FAILED, State.LEAVING})

_Holder = Pod | Owner | PodGroup
_OneHolder = TypeVar("_OneHolder", Pod, Owner, PodGroup)


@dataclass(frozen=True)
class Correction:
    """One thing that is wrong, by its token, and how to mend it."""

    cause: str
    steps: tuple[Step, ...]
    says: str
    after: Situation


def corrections(s: Situation, old_pods: tuple[PodKey, ...]) -> tuple[Correction, ...]:
    """Return what is to be mended, in this order; ``old_pods`` is whom its held members wait for.

    1. Labels and annotations that cannot be used.
    2. A gang size that nobody says.
    3. Gates of others, and old pods that are still there.
    4. Pods that are missing.
    5. A topology level that no node has.
    """
    found: list[Correction] = []
    while len(found) < _MOST:
        one = _next(found[-1].after if found else s, old_pods)
        if one is None:
            break
        found.append(one)
    return tuple(found)


def _next(s: Situation, old_pods: tuple[PodKey, ...]) -> Correction | None:
    if _problem(s):
        return next(_unusable(s), None)
    if s.job.min_available is None:
        return _stated(s)
    if len(s.waiting) >= max(1, planner.missing(s.job)):
        return _levelled(s)
    if s.job.having(State.HELD):
        return _arrived(s, old_pods) if old_pods else _ungated(s)
    return _completed(s)


def _levelled(s: Situation) -> Correction | None:
    """No node has the level that is required: where it does not matter, nodes may."""
    request = s.job.spec.topology
    if request is None or not topology.absent(s.job, s.room, s.params.topology):
        return None
    offer = job_changes.without_topology(s, request)
    return Correction("topology", offer.steps, offer.says, s.wishing(topology=None))


def _unusable(s: Situation) -> Iterator[Correction]:
    """Yield each label or annotation without which the problem is another one, or none.

    What the message names comes first; the gang size is stated anew where nobody else says it.
    """
    kinds: tuple[tuple[StepKind, str], ...] = (
        (StepKind.SET_ANNOTATION, "annotations"),
        (StepKind.SET_LABEL, "labels"),
    )
    found = [
        (key not in _problem(s), key, kind, field)
        for kind, field in kinds
        for key in {k for holder in _holders(s) for k in getattr(holder, field, ())}
    ]
    for _, key, kind, field in sorted(found, key=lambda one: one[:2]):
        before = next(getattr(h, field)[key] for h in _holders(s) if key in getattr(h, field, ()))
        for after in ("", str(_size(s))) if key == labels.MIN_AVAILABLE else ("",):
            mended = _with(s, key, field, after)
            problem, known = _problem(mended), mended.job.min_available is not None
            if problem != _problem(s) and (problem or known):
                step = Step(kind=kind, subject=s.job.key, field=key, before=before, after=after)
                what = f"set {key} to {after}" if after else f"correct or drop {key}"
                yield Correction("annotation", (step,), f"{what} ({_now(s, key, field)})", mended)
                break


def _now(s: Situation, key: str, field: str) -> str:
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


def _problem(s: Situation) -> str:
    problem = s.job.problem or topology.problem(s.job, s.params.topology)
    return "" if problem is None else problem.message


def _stated(s: Situation) -> Correction:
    size, key = str(_size(s)), labels.MIN_AVAILABLE
    step = Step(kind=StepKind.SET_ANNOTATION, subject=s.job.key, field=key, after=size)
    after = _with(s, key, "annotations", size)
    return Correction("gang-size", (step,), f"set the annotation {key} to {size}", after)


def _ungated(s: Situation) -> Correction:
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
    says = f"whoever set the scheduling gate {' and '.join(gates)} removes it"
    return Correction("gate", steps, says, _released(s))


def _arrived(s: Situation, old_pods: tuple[PodKey, ...]) -> Correction:
    steps = tuple(Step(kind=StepKind.WAIT, subject=key, field="end") for key in old_pods)
    says = f"wait until {names(old_pods)} is gone"
    return Correction("old-pod", steps, says, _released(s))


def _completed(s: Situation) -> Correction | None:
    """The missing pods are taken to be as the last one that is there."""
    like = next((m for m in reversed(s.job.members) if m.state not in _GONE), s.job.members[-1])
    count = max(1, planner.missing(s.job)) - len(s.waiting)
    step = Step(kind=StepKind.ADD_PODS, subject=s.job.key, amount=count)
    new = tuple(_copy(like, number) for number in range(count))
    says = f"make the {count} pod{'s' if count > 1 else ''} that {'are' if count > 1 else 'is'}"
    after = s.with_members((*s.job.members, *new))
    return Correction("pods-missing", (step,), f"{says} not there yet", after)


def _released(s: Situation) -> Situation:
    return s.with_members(
        replace(m, state=State.GATED) if m.state is State.HELD else m for m in s.job.members
    )


def _copy(like: Member, number: int) -> Member:
    name = f"{like.pod.name}-new-{number}"
    pod = changed(like.pod, name=name, uid=Uid(name), node_name=None)
    return replace(like, pod=pod, index=None, state=State.GATED, node=None)


def _size(s: Situation) -> int:
    return max(1, sum(m.state not in _GONE for m in s.job.members))


def _holders(s: Situation) -> Iterator[_Holder]:
    for pod in s.snapshot.jobs[s.job.key]:
        over = above(s.snapshot, pod)
        yield pod
        yield from over.owners
        if over.group is not None:
            yield over.group


def _with(s: Situation, key: str, field: str, value: str) -> Situation:
    """Return the situation with a label or annotation set on the pods, or gone everywhere."""
    snapshot, holders = s.snapshot, list(_holders(s))
    owners = [_unstamped(_mended(h, key, field, ""), key) for h in holders if isinstance(h, Owner)]
    groups = {h.key: _mended(h, key, field, "") for h in holders if isinstance(h, PodGroup)}
    pods = tuple(_mended(pod, key, field, value) for pod in snapshot.jobs[s.job.key])
    mended = replace(
        snapshot,
        jobs={**snapshot.jobs, s.job.key: pods},
        owners=snapshot.owners.with_(owners),
        groups={**snapshot.groups, **groups},
        cache=Cache(),
    )
    return replace(s, snapshot=mended, job=as_queued(job_views.view(mended, s.job.key)))


def _mended(holder: _OneHolder, key: str, field: str, value: str) -> _OneHolder:
    """Return what has labels and annotations with one of them set; without it if it is empty."""
    if not hasattr(holder, field):
        return holder
    kept = {k: v for k, v in getattr(holder, field).items() if k != key}
    return changed(holder, **{field: {**kept, key: value} if value else kept})


def _unstamped(owner: Owner, key: str) -> Owner:
    return changed(owner, template={k: v for k, v in owner.template.items() if k != key})


def as_queued(job: jobs.Job) -> jobs.Job:
    """Return the job as if its pods that never had our gate had it: what matters is the room.

    Equal shapes become one object: what is worked out for one counts for all.
    """
    shapes: dict[PodShape, PodShape] = {}

    def queued(member: Member) -> Member:
        state = State.GATED if member.state is State.DIRECT else member.state
        own = shapes.setdefault(member.pod.shape, member.pod.shape)
        pod = member.pod if own is member.pod.shape else changed(member.pod, shape=own)
        shape = shapes.setdefault(member.shape, member.shape)
        return Member(pod, member.role, member.index, state, member.node, shape)

    return replace(job, members=tuple(map(queued, job.members)))
